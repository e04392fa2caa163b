"""What it costs to push a folder: at first, again, and after one changed rule."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.stack import Stack

COMMAND = Path(sys.executable).parent / "sakuin"
# Up to the first paragraph or item of a box: in front of its title the sentence would become the title, which
# examples of that rule name in their learns.
RULE = re.compile(r'(id="(?:rule|method|def)-[^"]*"[^>]*>.*?<(?:p|li)(?: [^>]*)?>)', re.DOTALL)


def main(folder: Path) -> None:
    """Pushes a copy of the folder three times, the third time with one rule changed."""
    stack = Stack()
    with tempfile.TemporaryDirectory() as copy:
        pages = Path(shutil.copytree(folder, Path(copy) / "pages", dirs_exist_ok=True))
        count = len(list(pages.rglob("*.html")))
        for name in ("first", "again", "one changed rule"):
            if name == "one changed rule":
                _change_one_rule(pages)
            before, started = stack.embedded(), time.perf_counter()
            subprocess.run([COMMAND, "push", str(pages), "--prefix", "benchmark"], check=True)
            seconds = time.perf_counter() - started
            print(f"{name}: {count} pages in {seconds:.1f} s, {count / seconds:.1f} pages/s, ", end="")
            print(f"{stack.embedded() - before} texts embedded")
        for page in pages.rglob("*.html"):
            stack.delete(f"benchmark/{page.relative_to(pages)}")


def _change_one_rule(pages: Path) -> None:
    for page in sorted(pages.rglob("*.html")):
        changed, found = RULE.subn(r"\1この一文が加わりました。", page.read_text("utf-8"), count=1)
        if found:
            page.write_text(changed, "utf-8")
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
