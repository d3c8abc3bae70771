"""The translators that are served, by their languages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from transformer.files import sha256_file
from transformer.serving.card import CARD
from transformer.serving.http.errors import ServiceError, invalid
from transformer.serving.http.languages import match_language
from transformer.serving.session import Provider
from transformer.serving.translator import UNSPACED_LANGUAGES, Translator
from transformer.text.word_list import WORDS, WordList

AUTO = "auto"
_NO_WORDS = WordList(())
_UNSPACED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True)
class Model:
    """A translator with its names: `name` is that of its languages, `version` its card's hash."""

    folder: Path
    translator: Translator
    version: str

    @property
    def source(self) -> str:
        """The source language, as the card has it."""
        return self.translator.card.source_language

    @property
    def target(self) -> str:
        """The target language, as the card has it."""
        return self.translator.card.target_language

    @cached_property
    def name(self) -> str:
        """Such as fr-en."""
        return f"{self.source}-{self.target}"

    def share_of_known_words(self, text: str) -> float:
        """How much of a text seems to be in the source language, from 0 to 1.

        By the words that the training text had; in scripts without spaces between words, by
        letters.
        """
        letters = [letter for letter in text if letter.isalpha()]
        unspaced = sum(map(bool, map(_UNSPACED.match, letters))) / max(1, len(letters))
        if self.source.replace("_", "-").partition("-")[0] in UNSPACED_LANGUAGES:
            return unspaced
        words = _NO_WORDS.missing(text)
        if not words or WORDS not in self.translator.card.files:
            return 0.0
        known = 1 - len(self.translator.unknown_words(text)) / len(words)
        return max(0.0, known) * (1 - unspaced)


class Catalog:
    """Models by their pair of languages. Immutable.

    Raises:
        ValueError: two have the same languages.
    """

    def __init__(self, models: Iterable[Model]) -> None:
        self._by_name: dict[str, Model] = {}
        for model in models:
            other = self._by_name.setdefault(model.name, model)
            if other is not model:
                raise ValueError(
                    f"{other.folder} and {model.folder} both translate {model.name}; serve one"
                )

    @property
    def models(self) -> Sequence[Model]:
        """All, by name."""
        return [self._by_name[name] for name in sorted(self._by_name)]

    @property
    def by_name(self) -> Mapping[str, Model]:
        """All, as their languages name them."""
        return self._by_name

    def sources(self, target: str | None = None) -> list[str]:
        """The languages that are translated, into `target` or into any."""
        return sorted({m.source for m in self.models if target in (None, m.target)})

    def targets(self, source: str | None = None) -> list[str]:
        """The languages that `source`, or any, is translated into."""
        return sorted({m.target for m in self.models if source in (None, m.source)})

    def find(self, source: str, target: str) -> Model:
        """The model of two languages, as a client writes them.

        Raises:
            ServiceError: there is none; the message tells which there are.
        """
        found = match_language(source, self.sources()), match_language(target, self.targets())
        model = self._by_name.get(f"{found[0]}-{found[1]}")
        if model is None:
            unknown = [
                code for code, known in zip((source, target), found, strict=True) if not known
            ]
            raise self._refuse(unknown[0] if unknown else f"{source} to {target}")
        return model

    def detect(self, text: str, target: str | None = None) -> list[tuple[str, float]]:
        """Source languages with the share of the text's words that each knows, best first.

        Raises:
            ServiceError: nothing is translated into `target`.
        """
        found = None if target is None else match_language(target, self.targets())
        if target is not None and found is None:
            raise self._refuse(target)
        shares: dict[str, float] = {}
        for model in self.models:
            if found in (None, model.target):
                share = model.share_of_known_words(text)
                shares[model.source] = max(share, shares.get(model.source, 0.0))
        return sorted(shares.items(), key=lambda share: -share[1])

    def _refuse(self, what: str) -> ServiceError:
        pairs = ", ".join(model.name for model in self.models)
        return invalid(f"{what} is not supported; the pairs that are there: {pairs}")


def find_folders(paths: Sequence[Path]) -> list[Path]:
    """The translators' folders that `paths` name: each is one, or holds several.

    Raises:
        ValueError: there is none in one of them.
    """
    folders: list[Path] = []
    for path in paths:
        found = (
            [path] if (path / CARD).is_file() else sorted(c.parent for c in path.glob(f"*/{CARD}"))
        )
        if not found:
            raise ValueError(
                f"{path} holds no translator: neither {CARD} nor a folder with one; run "
                "`dvc repro` to make one, or name another folder"
            )
        folders += found
    return folders


def load_catalog(
    paths: Sequence[Path],
    provider: Provider = "auto",
    precision: str = "auto",
    known: Catalog | None = None,
) -> Catalog:
    """Opens translators, each for runs of one thread side by side, and has each translate once.

    Args:
        paths: folders of translators, or folders of those.
        provider: as `Translator` takes it.
        precision: as `Translator` takes it.
        known: those that are open already; what has not changed is taken from there.

    Raises:
        ValueError: a folder holds no sound translator; two have the same languages.
    """
    open_models = {(m.folder, m.version): m for m in known.models} if known else {}
    models = []
    for folder in find_folders(paths):
        version = sha256_file(folder / CARD)
        model = open_models.get((folder, version))
        if model is None:
            translator = Translator(folder, provider, 1, precision)
            translator.translate(["."])  # the first run is slow
            model = Model(folder, translator, version)
        models.append(model)
    return Catalog(models)
