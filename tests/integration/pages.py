"""Small pages for tests, as a site generator would build them."""


def page(title: str, *boxes: str) -> str:
    body = "\n".join(boxes)
    return (
        f'<!DOCTYPE html><html lang="ja"><head><meta charset="UTF-8"><title>{title} - 試験</title></head>'
        f"<body><h1>{title}</h1>\n{body}\n</body></html>"
    )


def rule(anchor: str, title: str, text: str) -> str:
    return f'<div class="rule-box" id="{anchor}"><strong>📌 {title}</strong><p>{text}</p></div>'
