"""Documents translated sentence by sentence, whatever translates.

A placeholder that is a part of its sentence is masked: by a name, which a model copies, or by a
number. A translation that doesn't hold every mask exactly once is thrown away, and the
sentence translated with the other kind; if that fails too, it is translated without its
placeholders, which are put back where the words around them went. So none is ever lost or doubled.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from transformer.text.alignment import Alignment, Span, split_words
from transformer.text.markup.document import Document
from transformer.text.markup.placement import place_nodes
from transformer.text.markup.segment import FIRST_SLOT, Node, Parts, Segment

NAMES = ("David", "Thomas", "Laura", "Martin", "Sarah", "Robert", "Julia", "Daniel")
NUMBERS = ("17", "23", "42", "38", "64", "59", "86", "71")
# Names for words and numbers for numbers, then the other way round.
_MASKS = (NAMES, NUMBERS)
# Where a sign was taken out before them.
_SPACE_BEFORE_STOPS = re.compile(r"\s+(?=[.,](?:\s|\Z))")
_SLOT = re.compile(f"[{chr(FIRST_SLOT)}-\U0010fffd]")

# As many translations as texts, in order.
Translate = Callable[[list[str]], Sequence[str]]


class Align(Protocol):
    """Such as `transformer.text.alignment.Aligner.align`."""

    def __call__(self, source: str, target: str) -> Alignment:
        """Links the words of a sentence and of its translation."""


@dataclass
class _Sentence:
    """One sentence of a segment. `target` has its slots as the source has them."""

    source: str
    target: str | None = None
    masks: dict[str, str] = field(default_factory=dict)  # by mask, the slot

    @property
    def slots(self) -> list[str]:
        return _SLOT.findall(self.source)


def translate_documents(
    documents: Sequence[Document], translate: Translate, align: Align, gap: str
) -> list[str]:
    """The texts of documents, with their translations in place.

    Args:
        documents: what to translate.
        translate: sentences; called three times at most.
        align: for what has tags, or placeholders that had to be taken out.
        gap: what the target language puts between two sentences: a space, or nothing.
    """
    segments = [segment for document in documents for segment in document.segments]
    spans = [list(segment.sentences()) for segment in segments]
    sentences = [
        [_Sentence(segment.plain[begin:end]) for begin, end in of_segment]
        for segment, of_segment in zip(segments, spans, strict=True)
    ]
    todo = []
    for of_segment, segment in zip(sentences, segments, strict=True):
        for sentence in of_segment:
            if any(map(str.isalpha, sentence.source)):
                todo.append((sentence, segment))
            else:
                sentence.target = sentence.source
    for attempt in (0, 1, 2):
        tried = [(s, _mask(s, segment, attempt)) for s, segment in todo if s.target is None]
        asked = [(sentence, text) for sentence, text in tried if text is not None]
        if not asked:
            continue
        answers = translate([text for _, text in asked])
        for (sentence, _), answer in zip(asked, answers, strict=True):
            sentence.target = _unmask(answer, sentence.masks)
    results = [
        _finish(segment, of_segment, of_spans, align, gap)
        for segment, of_segment, of_spans in zip(segments, sentences, spans, strict=True)
    ]
    texts, begin = [], 0
    for document in documents:
        end = begin + len(document.segments)
        texts.append(document.fill(results[begin:end]))
        begin = end
    return texts


def _mask(sentence: _Sentence, segment: Segment, attempt: int) -> str | None:
    """What to send, with masks for slots; None: this attempt can't hide so many."""
    slots = sentence.slots
    sentence.masks = {}
    if attempt == 2:
        return _without_slots(sentence.source)
    if len(slots) > len(NAMES):
        return None
    if not slots and attempt:
        return None
    masks: dict[str, str] = {}
    for place, slot in enumerate(slots):
        is_number = segment.slots[ord(slot) - FIRST_SLOT].is_number
        mask = _MASKS[(is_number + attempt) % 2][place]
        if mask in sentence.source:
            return None
        masks[slot] = mask
        sentence.masks[mask] = slot
    text = _SLOT.sub(lambda found: masks[found[0]], sentence.source)
    return _SPACE_BEFORE_STOPS.sub("", text) if segment.nodes else text


def _without_slots(source: str) -> str:
    return _SPACE_BEFORE_STOPS.sub("", re.sub(r" {2,}", " ", _SLOT.sub("", source))).strip()


def _unmask(answer: str, masks: dict[str, str]) -> str | None:
    # What has characters of ours by itself would be taken for a placeholder.
    answer = _SLOT.sub("", answer)
    for mask, slot in masks.items():
        whole = rf"(?<!\w){mask}(?!\w)"
        if answer.count(mask) != 1 or not re.search(whole, answer):
            return None
        answer = re.sub(whole, slot, answer)
    return answer


def _finish(
    segment: Segment, sentences: Sequence[_Sentence], spans: Sequence[Span], align: Align, gap: str
) -> Parts:
    if all(sentence.target == sentence.source for sentence in sentences):
        return segment.raw
    target, position = [], 0
    length = 0
    places: list[int] = []
    for number, ((begin, end), sentence) in enumerate(zip(spans, sentences, strict=True)):
        between = segment.plain[position:begin]
        if number and not any(position <= place <= begin for place in segment.breaks):
            between = (between or gap) if gap else between.strip(" ")
        text = sentence.target or ""
        places.append(length + len(between))
        length += len(between) + len(text)
        target += [between, text]
        position = end
    target.append(segment.plain[position:])
    whole = "".join(target)
    lost = [
        begin + place
        for (begin, _), sentence in zip(spans, sentences, strict=True)
        for place, character in enumerate(sentence.source)
        if _SLOT.match(character) and character not in (sentence.target or "")
    ]

    def write(text: str) -> Parts:
        parts: list[str | int] = []
        end = 0
        for found in _SLOT.finditer(text):
            parts.append(segment.escape(text[end : found.start()]))
            parts += segment.slots[ord(found[0]) - FIRST_SLOT].raw
            end = found.end()
        parts.append(segment.escape(text[end:]))
        return tuple(part for part in parts if part != "")

    if not segment.nodes and not lost:
        return write(whole)
    alignment = Alignment([], [], [])
    ends = []
    for (begin, _), sentence, place in zip(spans, sentences, places, strict=True):
        _extend(alignment, begin, place, _align(sentence, align))
        ends.append((len(alignment.source), len(alignment.target)))
    return place_nodes(_with_lost(segment, lost), whole, alignment, ends, write)


def _align(sentence: _Sentence, align: Align) -> Alignment:
    source, target = sentence.source, sentence.target or ""
    if source == target:
        words = split_words(source)
        return Alignment(words, words, [(place, place) for place in range(len(words))])
    kept = set(_SLOT.findall(target))
    return align(_SLOT.sub(lambda found: found[0] if found[0] in kept else " ", source), target)


def _extend(whole: Alignment, source: int, target: int, part: Alignment) -> None:
    first, second = len(whole.source), len(whole.target)
    whole.source.extend((begin + source, end + source) for begin, end in part.source)
    whole.target.extend((begin + target, end + target) for begin, end in part.target)
    whole.links.extend((i + first, j + second) for i, j in part.links)


def _with_lost(segment: Segment, lost: Sequence[int]) -> list[Node]:
    """The segment's nodes, and a float for each slot that its translation doesn't have."""
    root = Node(0, len(segment.plain), (), (), segment.nodes)
    for place in lost:
        slot = segment.slots[ord(segment.plain[place]) - FIRST_SLOT]
        before, after = segment.plain[max(place - 1, 0) : place], segment.plain[place + 1 :][:1]
        parent: Node | None = root
        while parent is not None:
            inner, parent = parent, None
            for child in inner.children:
                if child.begin <= place < child.end:
                    parent = child
        node = Node(place, place, slot.raw, spaces=(before.isspace(), after.isspace()))
        inner.children.append(node)
        inner.children.sort(key=lambda child: (child.begin, child.end))
    return root.children
