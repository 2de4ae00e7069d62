#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Random inputs through common/stats (by stat_probe) and through scipy: they must agree.

usage: stats_against_scipy.py STAT_PROBE; exit 77 when scipy is not installed (python3-scipy)."""
import math
import subprocess
import sys
import warnings

try:
    import numpy as np
    from scipy import stats
except ImportError:
    print("skipped: python3-scipy is not installed")
    sys.exit(77)

warnings.simplefilter("ignore")
rng = np.random.default_rng(20080704)
questions = []  # (line, expected numbers, relative tolerance)


def ask(op, expected, *lists, rel=1e-9):
    words = [op]
    for v in lists:
        v = np.atleast_1d(v)
        words += [str(len(v))] + [repr(float(x)) for x in v]
    questions.append((" ".join(words), [float(e) for e in np.atleast_1d(expected)], rel))


def two_samples(k):
    """Sizes, scales and, every third time, ties."""
    na, nb = rng.integers(3, 25, 2)
    a = rng.normal(100, rng.uniform(0.5, 4), na)
    b = rng.normal(rng.uniform(98, 102), rng.uniform(0.5, 4), nb)
    return (np.round(a), np.round(b)) if k % 3 == 0 else (a, b)


def t_tests(a, b):
    w = stats.ttest_ind(b, a, equal_var=False)
    less = stats.ttest_ind(b, a, equal_var=False, alternative="less")
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    df = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))
    ask("welch", [w.statistic, w.pvalue, df, less.pvalue, 1 - less.pvalue], a, b, rel=1e-8)
    p = stats.ttest_ind(b, a)
    ask("pooled", [p.statistic, p.pvalue], a, b)
    y = stats.ttest_ind(b, a, equal_var=False, trim=0.2)
    if np.isfinite(y.pvalue) and min(len(a), len(b)) > 5:
        ask("yuen", [y.statistic, y.pvalue], a, b)
    n = min(len(a), len(b))
    r = stats.ttest_rel(b[:n], a[:n])
    ci = r.confidence_interval(0.9)
    ask("paired", [r.statistic, r.pvalue, ci.low, ci.high], a[:n], b[:n], rel=1e-6)  # scipy's t.ppf has 8 digits, an end may be near 0


def rank_tests(a, b):
    ties = len(set(np.concatenate([a, b]))) < len(a) + len(b)
    cc = stats.mannwhitneyu(a, b, method="asymptotic")
    no = stats.mannwhitneyu(a, b, method="asymptotic", use_continuity=False)
    # scipy's exact form ignores ties, so it is asked only when there are none
    exact = math.nan if ties else stats.mannwhitneyu(a, b, method="exact").pvalue
    ask("mw", [cc.statistic, exact, cc.pvalue, no.pvalue], a, b)
    d = rng.normal(0.5, 1, rng.integers(3, 22))
    both, low, high = (stats.wilcoxon(d, mode="exact", alternative=s) for s in ("two-sided", "less", "greater"))
    ask("signed", [high.statistic, both.pvalue, low.pvalue, high.pvalue], d)
    c = np.round(rng.normal(100, 3, rng.integers(3, 12)))
    kw = stats.kruskal(a, b, c)
    ask("kw", [kw.statistic, kw.pvalue], a, b, c)
    f = stats.f_oneway(a, b, c)
    ask("anova", [f.statistic, f.pvalue], a, b, c)
    lv = stats.levene(a, b, center="median")
    ask("bf", [lv.statistic, lv.pvalue], a, b)


def permutations():
    a, b = rng.normal(5, 1, rng.integers(2, 6)), rng.normal(5.5, 1, rng.integers(2, 6))
    diff = lambda x, y, axis=0: np.mean(y, axis=axis) - np.mean(x, axis=axis)
    # ours is two-sided by |difference|, scipy doubles the smaller tail: so by the absolute statistic
    absolute = lambda x, y, axis=0: np.abs(diff(x, y, axis))
    two = stats.permutation_test((a, b), absolute, alternative="greater", n_resamples=np.inf, vectorized=True)
    low = stats.permutation_test((a, b), diff, alternative="less", n_resamples=np.inf, vectorized=True)
    size = lambda x, axis=0: np.abs(np.mean(x, axis=axis))
    flip = stats.permutation_test((a,), size, permutation_type="samples", alternative="greater", n_resamples=np.inf, vectorized=True)
    ask("perm", [diff(a, b), two.pvalue, low.pvalue, flip.pvalue], a, b)


def describe(a, b):
    q = rng.uniform(0.02, 0.98)
    methods = ["inverted_cdf", "weibull", "linear", "median_unbiased"]
    expected = [np.quantile(a, q, method=m) for m in methods]
    expected.append(stats.mstats.hdquantiles(a, [q])[0])
    ask("quantiles", expected, a, [q])
    ask("dist", [stats.ks_2samp(a, b).statistic, stats.wasserstein_distance(a, b)], a, b)


def rates():
    n = int(rng.integers(1, 500))
    x, p = int(rng.integers(0, n + 1)), rng.uniform(0.01, 0.99)
    ask("binomial", stats.binomtest(x, n, p).pvalue, [x, n, p])
    t = stats.binomtest(x, n)
    cp, wi = t.proportion_ci(0.95, "exact"), t.proportion_ci(0.95, "wilson")
    ask("share", [cp.low, cp.high, wi.low, wi.high], [x, n], rel=1e-7)


def power():
    n, delta = float(rng.integers(3, 30)), rng.uniform(0.1, 2)
    out = []
    for df, ncp in ((2 * (n - 1), delta * math.sqrt(n / 2)), (n - 1, delta * math.sqrt(n))):
        c = stats.t.ppf(0.975, df)
        out.append(stats.nct.sf(c, df, ncp) + stats.nct.cdf(-c, df, ncp))
    if np.all(np.isfinite(out)):
        ask("power", out, [n, delta], rel=1e-6)


def regressions():
    n = int(rng.integers(8, 40))
    arm, order = (np.arange(n) // 2 % 2).astype(float), np.arange(1.0, n + 1)
    y = 50 + 0.3 * arm + 0.05 * order + rng.normal(0, 0.5, n)
    x = np.column_stack([np.ones(n), arm, order])
    coef, rss = np.linalg.lstsq(x, y, rcond=None)[:2]
    ask("ancova", [coef[1], coef[2], math.sqrt(rss[0] / (n - 3))], y, arm, order, rel=1e-8)
    line = stats.linregress(np.arange(n), y)
    ask("trend", [line.slope, line.pvalue, stats.kendalltau(np.arange(n), y, variant="b").statistic,
                  stats.theilslopes(y, np.arange(n)).slope], y, rel=1e-8)


for k in range(60):
    a, b = two_samples(k)
    t_tests(a, b)
    rank_tests(a, b)
    describe(a, b)
    permutations()
    rates()
    power()
    regressions()

run = subprocess.run([sys.argv[1]], input="\n".join(q[0] for q in questions) + "\n", text=True, capture_output=True)
answers = run.stdout.splitlines()
bad = 0
for (line, expected, rel), answer in zip(questions, answers):
    got = [float(x) for x in answer.split()] if not answer.startswith("error") else []
    pairs = zip(got, expected)
    if len(got) != len(expected) or any(
            not math.isnan(e) and abs(g - e) > rel * abs(e) + 1e-13 for g, e in pairs):
        bad += 1
        print(f"DIFFERS: {line}\n  ours  {answer}\n  scipy {expected}")
if run.returncode or len(answers) != len(questions):
    print(f"stat_probe: exit {run.returncode}, {len(answers)} of {len(questions)} answers\n{run.stderr}")
    bad += 1
print(f"{len(questions)} questions, {bad} differ")
sys.exit(bool(bad))
