"""Mean label entropy of infinitely many runs, extrapolated from a few.

With T_k = the chance that none of k other runs predicts the same class as a run, the entropy is the
sum over k ≥ 1 of T_k / k (Zhang 2012). R runs give T_1 to T_(R-1) without bias. Beyond, T_k is a
sum of c·q^k over the probabilities p = 1 - q of all classes of all examples, so that the known
terms limit the rest: moments of an unknown measure on q.
"""

from dataclasses import dataclass
from math import exp, log, log1p
from typing import NamedTuple

import numpy as np

from seedproof.typing import FloatArray, IntArray

# Pairs of equal rare answers that are added to those seen. Chosen in simulations.
PSEUDO_PAIRS = 0.25
# With fewer runs three classes of probabilities cannot be separated.
RADAU_FROM = 5


class Extrapolation(NamedTuple):
    """Mean entropy of infinitely many runs, in nats."""

    seen: float  # sum of the known terms
    beyond: float  # estimate of all others

    @property
    def entropy(self) -> float:
        """The whole sum."""
        return self.seen + self.beyond


def extrapolated_entropy(agreement_counts: IntArray, n_classes: int) -> Extrapolation:
    """Return the mean entropy that infinitely many runs would show.

    The part beyond the known terms is the mean of two estimates. The first continues the rarest
    answers that the terms show, with rates that vary as those of an exponential distribution. The
    second is the power law through the last two terms or, if that is less, the largest sum that
    the terms allow if no answer is rarer than an even split over all classes. Neither exceeds what
    the flip rate allows.

    `agreement_counts` says how often n of the R runs agreed, n = 0..R, over runs and examples.
    """
    n_runs = len(agreement_counts) - 1
    novel = novelty(agreement_counts)
    terms = np.arange(1, n_runs)
    seen = float((novel[1:] / terms).sum())
    if n_runs < 3 or novel[-1] <= 0.0:
        return Extrapolation(seen, 0.0)
    # If no two rare answers are equal, they could be rare without limit. A pair among N of them
    # lowers T_k by 2k / (R-1) of 1/N.
    n_rare = float(agreement_counts.sum() * novel[-1])
    steps = np.arange(n_runs) / (n_runs - 1)
    added = 2 * PSEUDO_PAIRS * steps * float(novel[-1]) / (n_rare + 1)
    series = _Series(novel - added, n_classes)
    lower = series.exponential_rates()
    upper = min(series.power_law(), series.largest())
    limit = entropy_limit(float(novel[1]), n_classes)
    return Extrapolation(seen, min((lower + upper) / 2, limit - seen))


def novelty(agreement_counts: IntArray) -> FloatArray:
    """Return T_0 to T_(R-1): the chance that none of k other runs predicts what a run does."""
    n_runs = len(agreement_counts) - 1
    others = n_runs - np.arange(n_runs + 1)
    chance = agreement_counts / agreement_counts.sum()
    novel = np.ones(n_runs)
    met_by_none = np.ones(n_runs + 1)
    for k in range(1, n_runs):
        met_by_none *= np.maximum(others - k + 1, 0) / (n_runs - k)
        novel[k] = chance @ met_by_none
    return novel


def entropy_limit(flip_rate: float, n_classes: int) -> float:
    """Return the largest mean entropy that a flip rate allows, in nats.

    One class with the probability p and equal probabilities for all others have the largest entropy
    for their flip rate, 1 - p² - (1-p)²/(K-1); that entropy is concave in the flip rate, so the
    bound holds for means over examples as well.
    """
    if flip_rate >= 1 - 1 / n_classes:
        return float(np.log(n_classes))
    inside = 1 - n_classes * (1 - (1 - flip_rate) * (n_classes - 1))
    p = (1 + np.sqrt(max(inside, 0.0))) / n_classes
    others = 0.0 if p >= 1.0 else (1 - p) * log((n_classes - 1) / (1 - p))
    return float(others - p * log(p))


@dataclass(frozen=True)
class _Atom:
    """Answers of one probability 1 - q that add `last` to the last known term."""

    last: float
    q: float


class _Series:
    """The known terms, and estimates of the sum of T_k / k beyond them."""

    def __init__(self, terms: FloatArray, n_classes: int) -> None:
        self._terms = terms
        self._n_runs = len(terms)
        self._limit = entropy_limit(float(min(terms[1], 1.0)), n_classes) - float(
            (terms[1:] / np.arange(1, len(terms))).sum()
        )
        self._rarest = self._rarest_atom()
        # All rare answers together, and the least probability if they are spread evenly.
        mass = min(self._rarest.last / self._rarest.q ** (self._n_runs - 1), 1.0)
        self._least = min(mass / max(n_classes - 1, 1), 0.5)

    def exponential_rates(self) -> float:
        """Return the sum if the rates of the rarest answers are exponentially distributed.

        T_k then continues as 1 / (1 + λ·j), which gives digamma functions.
        """
        rate = max(-log(self._rarest.q), -log1p(-self._least))
        scale, n_runs = 1 / rate, self._n_runs
        shift = scale - n_runs + 1
        if abs(shift) < 1e-4:
            scale += 1e-3
            shift += 1e-3
        total = scale / shift * (_digamma(scale + 1) - _digamma(n_runs))
        return min(self._rarest.last * total, self._limit)

    def power_law(self) -> float:
        """Return the sum if T_k continues by the power law through the last two terms."""
        n_runs = self._n_runs
        before, last = float(self._terms[-2]), float(self._terms[-1])
        if last >= before:
            return self._limit
        exponent = log(before / last) / log((n_runs - 1) / (n_runs - 2))
        total = last * exp(exponent * log(n_runs - 1)) * _zeta(1 + exponent, n_runs)
        return min(total, self._limit)

    def largest(self) -> float:
        """Return the largest sum that five of the terms allow, or what two atoms give.

        It has some answers as rare as possible: the upper principal representation (Gauss-Radau).
        """
        if self._n_runs < RADAU_FROM:
            return self._limit
        step = (self._n_runs - 1) // 4
        moments = self._last(5, step)
        top = (1 - self._least) ** step
        rest = top * moments[:-1] - moments[1:]
        if rest[-1] <= 0.0:
            return self._limit
        pair = _gauss(rest)
        if pair is None or pair[1] >= top:
            return min(self._beyond(self._rarest), self._limit)
        nodes = (*pair, top)
        total = 0.0
        for i, q in enumerate(nodes):
            first, second = nodes[:i] + nodes[i + 1 :]
            weight = moments[4] - (first + second) * moments[3] + first * second * moments[2]
            weight /= (q - first) * (q - second)
            if weight > 0.0 and q > 0.0:
                total += self._beyond(_Atom(float(weight) * q**2, q ** (1 / step)))
        return min(total, self._limit)

    def _rarest_atom(self) -> _Atom:
        """Return the rarer of two atoms through four terms, or one through the last two."""
        last, before = float(self._terms[-1]), float(self._terms[-2])
        step = (self._n_runs - 1) // 3
        if step == 0:
            return _Atom(last, _inside(last / before))
        moments = self._last(4, step)
        pair = _gauss(moments)
        if pair is None:
            return _Atom(last, _inside((last / float(moments[2])) ** (1 / step)))
        common, rare = pair[0], min(pair[1], 1.0)
        added = (last - common * float(moments[2])) / (rare - common) * rare
        return _Atom(min(max(added, 0.0), last), _inside(rare ** (1 / step)))

    def _last(self, n: int, step: int) -> FloatArray:
        """Return the last `n` terms in steps of `step`."""
        return self._terms[self._n_runs - 1 - (n - 1) * step :: step]

    def _beyond(self, atom: _Atom) -> float:
        """Return the sum of an atom's terms beyond the known ones."""
        q, n_runs = _inside(atom.q), self._n_runs
        if q < 0.9:  # a few terms suffice, and the logarithm would lose digits
            k = np.arange(n_runs, n_runs + 400)
            return atom.last * float((q ** (k - n_runs + 1) / k).sum())
        k = np.arange(1, n_runs)
        total = -log1p(-q) - float((q**k / k).sum())
        return atom.last * total / q ** (n_runs - 1)


def _inside(q: float) -> float:
    """Return q strictly between 0 and 1, so that logarithms exist."""
    return min(max(q, 1e-9), 1 - 1e-9)


def _gauss(moments: FloatArray) -> tuple[float, float] | None:
    """Return the nodes of the two atoms that have four moments; None if there are no two."""
    m0, m1, m2, m3 = (float(m) for m in moments)
    determinant = m0 * m2 - m1 * m1
    if determinant <= 1e-13 * abs(m0 * m2):
        return None
    total = (m0 * m3 - m1 * m2) / determinant
    product = (m1 * m3 - m2 * m2) / determinant
    discriminant = total * total - 4 * product
    if discriminant <= 0.0:
        return None
    root = discriminant**0.5
    return max((total - root) / 2, 0.0), (total + root) / 2


def _digamma(x: float) -> float:
    """Return the derivative of ln Γ for x > 0: recurrence, then the asymptotic series."""
    value = 0.0
    while x < 10:
        value -= 1 / x
        x += 1
    square = 1 / x**2
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return value + log(x) - 1 / (2 * x) - series


def _zeta(s: float, n: int) -> float:
    """Sum k^-s over all k ≥ n, for s > 1: ten terms, then the Euler-Maclaurin formula."""
    start = n + 10
    head = sum(k**-s for k in range(n, start))
    term, rest = s * start ** (-s - 1), 0.0
    for i, bernoulli in enumerate((1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)):
        rest += bernoulli * term
        term *= (s + 2 * i + 1) * (s + 2 * i + 2) / start**2
    return float(head + start ** (1 - s) / (s - 1) + start**-s / 2 + rest)
