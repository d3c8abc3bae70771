"""Two trained models on one test set: what differs, by how much, and whether by chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.experiments.results import Results, ResultsError, SetResults, Translation
from transformer.evaluation.scores import ScoreDifference, compare_bleu


@dataclass(frozen=True)
class ParamDifference:
    """A param with its value on either side; None where that side has no such param."""

    name: str
    a: str | None
    b: str | None


@dataclass(frozen=True)
class SentencePair:
    """One sentence of the test set, translated by both."""

    # In the test set, from 0.
    row: int
    a: Translation
    b: Translation

    @property
    def gain(self) -> float:
        """Sentence chrF++ of B minus A's."""
        return self.b.chrf - self.a.chrf


@dataclass(frozen=True)
class SetComparison:
    """One further test set, translated by both."""

    a: SetResults
    b: SetResults
    # As in `Comparison`.
    bleu: ScoreDifference


@dataclass(frozen=True)
class Comparison:
    """B held against A."""

    a: Results
    b: Results
    params: Sequence[ParamDifference]
    # BLEU of B minus A's, with the 95 % interval of paired resamples.
    bleu: ScoreDifference
    # In the order of the test set.
    sentences: Sequence[SentencePair]
    # Further sets that both have, by name; of all others why they are not compared.
    sets: Mapping[str, SetComparison]
    sets_left_out: Mapping[str, str]

    @property
    def decoding(self) -> list[ParamDifference]:
        """The decoding settings that differ, without which models alone are compared."""
        return [one for one in self.params if one.name.startswith("search.")]

    def largest_gains(self, number: int) -> list[SentencePair]:
        """The sentences that B translates better than A, the largest gain first."""
        ranked = sorted(self.sentences, key=lambda pair: -pair.gain)
        return [pair for pair in ranked[:number] if pair.gain > 0]

    def largest_losses(self, number: int) -> list[SentencePair]:
        """The sentences that B translates worse than A, the largest loss first."""
        ranked = sorted(self.sentences, key=lambda pair: pair.gain)
        return [pair for pair in ranked[:number] if pair.gain < 0]


def compare(a: Results, b: Results) -> Comparison:
    """Holds B against A.

    Raises:
        ResultsError: they were scored on different test sets, or with different tokenisations.
    """
    check_comparable(a, b)
    shared, left_out = share_sets([a, b])

    def compare_texts(
        theirs: Sequence[Translation], ours: Sequence[Translation]
    ) -> ScoreDifference:
        return compare_bleu(
            [one.text for one in ours],
            [one.text for one in theirs],
            [one.reference for one in theirs],
            bleu_tokenizer=a.bleu_tokenizer,
            num_bootstrap=max(a.num_bootstrap, b.num_bootstrap),
        )

    pairs = enumerate(zip(a.translations, b.translations, strict=True))
    return Comparison(
        a=a,
        b=b,
        params=list_param_differences(a, b),
        bleu=compare_texts(a.translations, b.translations),
        sentences=[SentencePair(row, left, right) for row, (left, right) in pairs],
        sets={
            name: SetComparison(left, right, compare_texts(left.translations, right.translations))
            for name, (left, right) in shared.items()
        },
        sets_left_out=left_out,
    )


def share_sets(
    everyone: Sequence[Results],
) -> tuple[dict[str, list[SetResults]], dict[str, str]]:
    """The further sets that all have, with the same sources and references.

    Returns:
        By the set's name, in the order of `everyone`; and of each other set why it is left out.
    """
    shared, left_out = {}, {}
    for name in dict.fromkeys(name for one in everyone for name in one.sets):
        missing = [one.name for one in everyone if name not in one.sets]
        if missing:
            left_out[name] = f"not scored by {', '.join(missing)}"
            continue
        found = [one.sets[name] for one in everyone]
        if len({one.sha256 for one in found}) > 1:
            left_out[name] = "its sources or references differ"
        else:
            shared[name] = found
    return shared, left_out


def check_comparable(a: Results, b: Results) -> None:
    """Refuses results that can't be held against each other.

    Raises:
        ResultsError: they were scored on different test sets, or with different tokenisations.
    """
    _check_test_sets(a, b)
    if a.bleu_tokenizer != b.bleu_tokenizer:
        raise ResultsError(
            f"BLEU of {a.name} was computed with evaluate.bleu_tokenizer = {a.bleu_tokenizer}, "
            f"of {b.name} with {b.bleu_tokenizer}; score both with one of them"
        )


def list_param_differences(a: Results, b: Results) -> list[ParamDifference]:
    """The params that differ, in the order of A.

    Sections that one side lacks altogether are left out: MLflow runs hold fewer of them.
    """
    sections = {_section(key) for key in a.params} & {_section(key) for key in b.params}
    return [
        ParamDifference(key, a.params.get(key), b.params.get(key))
        for key in dict.fromkeys([*a.params, *b.params])
        if _section(key) in sections and not _same(a.params.get(key), b.params.get(key))
    ]


def _section(key: str) -> str:
    return key.split(".", 1)[0]


def _same(a: str | None, b: str | None) -> bool:
    if a is None or b is None or a == b:
        return a == b
    try:
        return float(a) == float(b)  # 1e-05 and 0.00001, 4 and 4.0
    except ValueError:
        return False


def _check_test_sets(a: Results, b: Results) -> None:
    names = f"{a.name} and {b.name}"
    if len(a.translations) != len(b.translations):
        raise ResultsError(
            f"{names} were scored on other test sets, of {len(a.translations)} and of "
            f"{len(b.translations)} sentences: their scores can't be compared; if one is a quick "
            "run (evaluate.num_sentences), score it on the whole test set first"
        )
    for row, (left, right) in enumerate(zip(a.translations, b.translations, strict=True)):
        # Sources may be normalised in different ways, references are the corpus's own.
        if left.reference != right.reference or _letters(left.source) != _letters(right.source):
            raise ResultsError(
                f"{names} were scored on other test sets: sentence {row + 1} is "
                f"{left.source!r} = {left.reference!r} in the one, "
                f"{right.source!r} = {right.reference!r} in the other"
            )


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))
