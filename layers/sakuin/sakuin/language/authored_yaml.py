"""YAML files of authors, parsed with line numbers for error messages."""

from dataclasses import dataclass

import yaml
from yaml.nodes import Node, ScalarNode

from sakuin.errors import Invalid

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
            raise Invalid(f"{self.name} is larger than {self.too_large}")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Invalid(f"{self.name} is not valid UTF-8 (byte {error.start}). Save it as UTF-8.") from error
        try:
            self._reject_expansion(text)
            root: Node | None = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
            problem = error.problem or "not YAML"
            raise Invalid(f"{self.name}, {line}{problem}. Correct it and upload it again.") from error
        except yaml.YAMLError as error:
            raise Invalid(f"{self.name} is not YAML: {' '.join(str(error).split())}") from error
        return None if isinstance(root, ScalarNode) and not root.value else root

    def _reject_expansion(self, text: str) -> None:
        depth = 0
        for event in yaml.parse(text, Loader=_LOADER):
            if isinstance(event, yaml.AliasEvent):
                raise Invalid(f"{self.name}, {line_of(event)}: aliases (*name) are not allowed. {self.no_alias}")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > self.deepest:
                    raise Invalid(f"{self.name}, {line_of(event)}: nested too deeply. {self.too_deep}")
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1


def is_text(node: Node) -> bool:
    """Returns whether a node is a string, not a number, a date or a list."""
    return isinstance(node, ScalarNode) and node.tag == TEXT_TAG


def line_of(node: Node | yaml.Event) -> str:
    """Returns the line of a node, counted from 1."""
    return f"line {node.start_mark.line + 1}" if node.start_mark else "somewhere"
