"""YAML files of authors, parsed with line numbers for error messages."""

from dataclasses import dataclass

import yaml
from yaml.nodes import Node, ScalarNode

from sakuin.errors import Invalid
from sakuin.texts.catalogue import coded

TEXT_TAG = "tag:yaml.org,2002:str"
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class AuthoredYaml:
    """One kind of file with its name, its largest size in bytes and its deepest nesting.

    `too_large`, `no_alias` and `too_deep` are the endings of the error messages.
    """

    name: str
    largest: int
    deepest: int
    too_large: str
    no_alias: str
    too_deep: str

    def root(self, data: bytes) -> Node | None:
        """Returns the root node; None if the file is empty. Raises `Invalid`, with the line if known.

        Rejects aliases, which can expand to unlimited size.
        """
        if len(data) > self.largest:
            raise Invalid(coded("file.too_large", file=self.name, most=self.too_large))
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Invalid(coded("file.not_utf8", file=self.name, byte=str(error.start))) from error
        try:
            self._reject_expansion(text)
            root: Node | None = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            line = str(error.problem_mark.line + 1) if error.problem_mark else "?"
            problem = error.problem or "not YAML"
            raise Invalid(coded("file.not_yaml", file=self.name, line=line, problem=problem)) from error
        except yaml.YAMLError as error:
            raise Invalid(
                coded("file.not_yaml_at_all", file=self.name, problem=" ".join(str(error).split()))
            ) from error
        return None if isinstance(root, ScalarNode) and not root.value else root

    def _reject_expansion(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise Invalid(coded("file.alias", file=self.name, line=line_of(event), instead=self.no_alias))
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > self.deepest:
                    raise Invalid(coded("file.too_deep", file=self.name, line=line_of(event), instead=self.too_deep))
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1


def is_text(node: Node) -> bool:
    """Returns whether a node is a string, not a number, a date or a list."""
    return isinstance(node, ScalarNode) and node.tag == TEXT_TAG


def line_of(node: Node | yaml.Event) -> str:
    """Returns the line of a node, counted from 1; `?` if it is unknown."""
    return str(node.start_mark.line + 1) if node.start_mark else "?"
