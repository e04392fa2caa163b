"""Conditional logistic regression: which of several choices is right.

McFadden: Conditional logit analysis of qualitative choice behavior, 1974; by Newton's method.
"""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
# The largest change of a weight in a step, and the change at which the steps end.
_LONGEST_STEP, _LAST_STEP = 1.0, 1e-6
_STEPS = 100


def learned_weights(
    features: Array, offsets: Array, right: NDArray[np.bool_], importance: Array, ridge: Array
) -> Array:
    """Returns the weight of each feature.

    `features` are rows, choices, features. `offsets`, rows and choices, are added to the scores: -inf for a choice that
    does not exist. `right` has at least one choice of each row. `importance` is that of each row. The square of a
    weight costs half of its `ridge`.
    """
    weights = np.zeros(features.shape[2])
    for _ in range(_STEPS):
        scores = features @ weights + offsets
        chances, of_right = _chances(scores), _chances(np.where(right, scores, -np.inf))
        means = np.einsum("qc,qcf->qf", chances, features)
        slope = importance @ (np.einsum("qc,qcf->qf", of_right, features) - means) - ridge * weights
        squares = np.einsum("qc,qcf,qcg->fg", chances * importance[:, None], features, features, optimize=True)
        curve = squares - (means * importance[:, None]).T @ means + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        weights = weights + step * min(1.0, _LONGEST_STEP / np.abs(step).max())
        if np.abs(step).max() < _LAST_STEP:
            break
    return weights


def _chances(scores: Array) -> Array:
    chances: Array = np.exp(scores - scores.max(axis=1, keepdims=True))
    return chances / chances.sum(axis=1, keepdims=True)
