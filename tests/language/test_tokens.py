"""Estimated tokens, compared with those of OpenAI's o200k_base."""

import pytest
from sakuin.language.unicode_text import estimated_tokens

# Counted with bpe-openai 0.1.4.
COUNTED = {
    "A quadratic equation is solved by the formula: read its three coefficients.": 14,
    "Eine quadratische Gleichung löst man mit der Formel.": 12,
    "Una ecuación de segundo grado se resuelve con la fórmula.": 13,
    "İkinci dereceden bir denklem formülle çözülür: üç katsayı okunur ve sırayla formülde yerlerine konur.": 32,
    "Квадратное уравнение решают по формуле: находят три коэффициента и подставляют их в неё один за другим.": 29,
    "一元二次方程用公式求解：先读出三个系数，再依次代入公式。": 24,
    "二次方程式は公式で解く。三つの係数を読みとって、順に公式に代入する。": 29,
}


@pytest.mark.parametrize("text", COUNTED)
def test_the_estimate_is_near_the_tokens_of_every_script(text: str) -> None:
    assert 0.85 <= estimated_tokens(text) / COUNTED[text] <= 1.8


def test_nothing_has_no_tokens() -> None:
    assert (estimated_tokens(""), estimated_tokens("a"), estimated_tokens("解")) == (0, 1, 1)
