"""Formulas in pages: superscripts, MathML, and what KaTeX and MathJax make of TeX."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sakuin.knowledge.reading.page_reader import read_page

TEX = "<annotation encoding='application/x-tex'>\\frac{1}{2}</annotation>"
HALF = "<mfrac><mn>1</mn><mn>2</mn></mfrac>"


def text(html: str) -> str:
    (only,) = read_page(f"<div id=rule-a>{html}</div>".encode()).explanations
    return only.content


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("A = P(1 + r/n)<sup><i>nt</i></sup>", "A = P(1 + r/n)^{nt}"),
        ("<i>x</i><sup><i>2</i></sup> and x² and H<sub>2</sub>O", "x^2 and x² and H_2O"),
        ("2<sup>x<sup>2</sup></sup>", "2^{x^2}"),
        ("the 4<sup>th</sup> time<sup><a href=#n>1</a></sup>", "the 4th time[1]"),
    ],
)
def test_superscripts_and_subscripts_stay_whatever_is_in_them(html: str, written: str) -> None:
    assert text(html) == written
    (titled,) = read_page(f"<h1>{html}</h1><p>x</p>".encode()).explanations
    assert titled.title == written.removesuffix("[1]")  # the mark of a note


def stack(kind: str, *rows: str) -> str:
    """What KaTeX writes with `output: "html"`: rows from the lowest to the highest."""
    return f'<span class={kind}><span class="vlist-t x"><span class=vlist>{"".join(rows)}</span></span></span>'


def row(top: float, text: str) -> str:
    strut = '<span class=pstrut style="height:2.7em"></span>'
    return f'<span style="top:-{top}em">{strut}<span class=mord>{text}</span></span>'


@pytest.mark.parametrize(
    ("drawn", "tex"),
    [
        (f"<span class=mord>x</span>{stack('msupsub', row(2.45, 'i'), row(3.06, '12'))}", "x_i^{12}"),
        (stack("mfrac", row(2.3, "c"), "<span><span class=frac-line></span></span>", row(3.4, "a")), r"\frac{a}{c}"),
        (f"{stack('sqrt', row(3, 'x'))}<span class=mrel>=</span><span>2\u200b</span>", r"\sqrt{x} = 2"),
    ],
)
def test_a_formula_that_katex_only_draws_is_tex(drawn: str, tex: str) -> None:
    html = f"<span class=katex><span class=katex-html aria-hidden=true>{drawn}</span></span>"
    assert text(f"Let {html}.") == rf"Let {tex}."


@pytest.mark.parametrize(
    ("mathml", "tex"),
    [
        ("<msup><mi>v</mi><mn>2</mn></msup>", "v^2"),
        (
            "<mi>x</mi><mo>=</mo><mfrac><mrow><mo>−</mo><mi>b</mi><mo>±</mo><msqrt><msup><mi>b</mi><mn>2</mn></msup>"
            "<mo>−</mo><mn>4</mn><mi>a</mi><mi>c</mi></msqrt></mrow><mrow><mn>2</mn><mi>a</mi></mrow></mfrac>",
            r"x = \frac{−b ± \sqrt{b^2 − 4ac}}{2a}",
        ),
        ("<mroot><mi>x</mi><mn>3</mn></mroot>", r"\sqrt[3]{x}"),
        ("<mn>5</mn><mo>×</mo><msup><mrow><mn>10</mn></mrow><mrow><mo>−</mo><mn>3</mn></mrow></msup>", "5 × 10^{−3}"),
        ("<msup><mrow><mi>a</mi><mi>b</mi><mo>+</mo><mi>c</mi></mrow><mi>n</mi></msup>", "{ab + c}^n"),
        ("<msub><mi>E</mi><mtext>kin</mtext></msub><mo>(</mo><mi>t</mi><mo>)</mo>", "E_{kin}(t)"),
        (
            "<mover><mi>F</mi><mo>→</mo></mover><mo>=</mo><mi>m</mi><mover><mi>a</mi><mo>→</mo></mover>",
            r"\vec{F} = m\vec{a}",
        ),
        (
            "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover><mi>i</mi>",
            "∑_{i = 1}^ni",
        ),
        ("<munder><mi>lim</mi><mi>n</mi></munder><mi>sin</mi><mi>n</mi>", "lim_n sin n"),
        ("<msup><mn>30</mn><mo>∘</mo></msup><msup><mi>f</mi><mo>′</mo></msup>", "30°f′"),
        ("<mfenced open='[' separators=','><mi>a</mi><mi>b</mi></mfenced>", "[a, b)"),
        (
            "<mtable><mtr><mtd><mi>a</mi></mtd><mtd><mi>b</mi></mtd></mtr><mtr><mtd><mi>c</mi></mtd><mtd><mi>d</mi></mtd></mtr></mtable>",
            r"\begin{matrix} a & b \\ c & d \end{matrix}",
        ),
        ("<mmultiscripts><mi>C</mi><mprescripts/><mn>6</mn><mn>14</mn></mmultiscripts>", "_6^{14}C"),
        (f"<semantics><mrow>{HALF}</mrow>{TEX}</semantics>", r"\frac{1}{2}"),
        (f"<semantics><mrow>{HALF}</mrow><annotation>half</annotation></semantics>", r"\frac{1}{2}"),
        ("<mi>x</mi><mspace/><mtext>for all</mtext><mphantom><mi>y</mi></mphantom>", "x for all"),
    ],
)
def test_mathml_is_tex_with_the_signs_of_the_page(mathml: str, tex: str) -> None:
    assert text(f"Let <math>{mathml}</math>") == f"Let {tex}"


@pytest.mark.parametrize(
    "html",
    [
        f"<span class=katex><span class=katex-mathml><math>{TEX}</math></span><span aria-hidden=true>12</span></span>",
        f"<mjx-container><mjx-math aria-hidden=true>12</mjx-math><mjx-assistive-mml><math>{HALF}</math>"
        "</mjx-assistive-mml></mjx-container>",
        r"<mjx-container><mjx-math data-latex='\frac{1}{2}'>12</mjx-math></mjx-container>",
        r"<span class=MathJax data-mathml='<math></math>'>12</span><script type=math/tex>\frac{1}{2}</script>",
        f'<span class=MathJax_Preview>12</span><span class=MathJax data-mathml="<math>{HALF}</math>">12</span>',
        r"<math alttext='\frac{1}{2}'><mn>12</mn></math>",
        r"<img class=tex alt='\frac{1}{2}' src=a.png>",
    ],
)
def test_rendered_tex_is_in_the_text_once(html: str) -> None:
    assert text(f"Take {html} of it") == r"Take \frac{1}{2} of it"


def test_a_formula_in_an_aside_stays_with_its_sentence_and_an_advertisement_does_not() -> None:
    aside = "<aside id=fs-1><div><math><mi>v</mi><mo>=</mo><mi>a</mi><mi>t</mi></math></div></aside>"
    html = f"<main><h1>Speed</h1><p>It grows:</p>{aside}<aside>Ad</aside><aside class=ad><p>Ad</p></aside></main>"
    (only,) = read_page(html.encode()).explanations
    assert only.content == "Speed\nIt grows:\nv = at"


@given(
    st.recursive(
        st.sampled_from(["<mi>x</mi>", "<mo>−</mo>", "", "{", "\\"]),
        lambda inner: st.builds(
            "<{0}>{1}{2}</{0}>".format,
            st.sampled_from(
                ["mfrac", "msup", "msqrt", "mtable", "mtr", "mmultiscripts", "mfenced", "semantics", "mover"]
            ),
            inner,
            inner,
        ),
    )
)
def test_any_mathml_is_read(mathml: str) -> None:
    assert text(f"a<math>{mathml}</math>").startswith("a")


def test_deeply_nested_mathml_is_read() -> None:
    assert "x" in text("<math>" + "<msqrt>" * 5000 + "<mi>x</mi>")


def test_a_formula_of_mathjax_that_is_only_drawn_has_its_characters() -> None:
    def drawn(codes: str) -> str:
        return "".join(f"<mjx-c class='mjx-c{code} TEX-I'></mjx-c>" for code in codes.split())

    power = (
        f"<mjx-msup><mjx-mi>{drawn('1D465')}</mjx-mi><mjx-script><mjx-mn>{drawn('32')}</mjx-mn></mjx-script></mjx-msup>"
    )
    below = f"<mjx-dbox><mjx-dtable><mjx-line></mjx-line><mjx-den>{drawn('34')}</mjx-den></mjx-dtable></mjx-dbox>"
    whole = f"<mjx-mfrac><mjx-frac><mjx-num>{drawn('33')}</mjx-num>{below}</mjx-frac></mjx-mfrac>"
    formula = (
        f"<mjx-container jax=CHTML><mjx-math>{power}<mjx-mo>{drawn('3D')}</mjx-mo>{whole}</mjx-math></mjx-container>"
    )
    assert text(f"So {formula} holds") == r"So x^2=\frac{3}{4} holds"
