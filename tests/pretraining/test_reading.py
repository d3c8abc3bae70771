"""Text without translations comes from the folder that the stage depends on, or from the pairs."""

from types import SimpleNamespace

import numpy as np
import pytest

from transformer.pretraining.config import MonolingualFiles
from transformer.pretraining.in_memory_dataset import Example, InMemoryDataset
from transformer.pretraining.reading import read_text
from transformer.text.clean_config import NormalizationConfig


class Lengths:
    """A tokenizer whose tokens are the lengths of words."""

    def encode_batch(self, texts):
        return [[len(word) for word in text.split()] for text in texts]


def split(source, target):
    """A split of one sentence a side, given without end tokens."""
    closed = (np.array([*ids, 3]) for ids in (source, target))
    return InMemoryDataset([Example(*closed)])


def read(folder, source, target):
    ids = SimpleNamespace(train=split([5, 6], [7]), valid=split([8], [9, 9]))
    plain = NormalizationConfig(lowercase=False, strip_punctuation=True, fold_typography=False)
    texts = read_text(
        folder,
        MonolingualFiles(source=source, target=target),
        ids,
        SimpleNamespace(source=plain, target=plain),
        SimpleNamespace(source=Lengths(), target=Lengths()),
    )
    return [[ids.tolist() for ids in side] for text in texts for side in (text.source, text.target)]


def test_a_file_is_normalised_and_tokenized_and_stands_for_its_side(tmp_path):
    (tmp_path / "more.fr").write_text("un chat dort .\noui !\n")
    assert read(tmp_path, "more.fr", None) == [[[2, 4, 4], [3]], [[7]], [[8]], [[9, 9]]]


def test_without_files_the_pairs_are_read(tmp_path):
    assert read(tmp_path, None, None) == [[[5, 6]], [[7]], [[8]], [[9, 9]]]


def test_a_file_that_is_missing_is_named(tmp_path):
    told = r"pretrain.text.target = 'more\.en': there is no such file in .*; put or link it there"
    with pytest.raises(ValueError, match=told):
        read(tmp_path, None, "more.en")


@pytest.mark.parametrize("name", ["/elsewhere/text.en", "../text.en", "a/../../b", ""])
def test_a_file_outside_the_folder_is_refused_since_no_one_would_see_it_change(name):
    with pytest.raises(ValueError, match="a file in data/monolingual, and put or link it there"):
        MonolingualFiles(source=None, target=name)
