"""Embeddings that begin by a lexicon: near their translations, as long as drawn ones."""

import numpy as np
import torch

from transformer.text.lexicon import Lexicon
from transformer.training.lexical_embeddings import SHARE, use_lexicon
from transformer.training.trainer import Trainer

# Source 4 is target 7, source 5 is target 7 or 8, as likely; source 6 has no entry.
LEXICON = Lexicon(
    source=np.array([4, 5, 5]),
    target=np.array([7, 7, 8]),
    probability=np.array([1.0, 0.5, 0.5]),
    source_counts=np.array([0, 0, 0, 0, 9, 9, 1, 0, 0, 0]),
    target_counts=np.array([0, 0, 0, 0, 0, 0, 0, 9, 9, 4]),
)


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return torch.nn.functional.cosine_similarity(a, b, dim=0).item()


def test_a_source_token_begins_near_what_it_translates_to(model_maker):
    model = model_maker(source_vocab_size=10, target_vocab_size=10, d_model=512)
    before = {
        "source": model.source_embedding.tokens.weight.clone(),
        "target": model.target_embedding.tokens.weight.clone(),
    }
    use_lexicon(model, LEXICON)
    source = model.source_embedding.tokens.weight
    torch.testing.assert_close(model.target_embedding.tokens.weight, before["target"])
    assert abs(cosine(source[4], before["target"][7]) - SHARE) < 0.1
    assert abs(cosine(source[5], before["target"][7] + before["target"][8]) - SHARE) < 0.1
    assert abs(cosine(source[4], before["target"][8])) < 0.15
    assert cosine(source[6], before["source"][6]) > 0.999
    lengths = source.norm(dim=1) / before["target"].norm(dim=1).mean()
    torch.testing.assert_close(lengths, torch.ones(10), atol=0.1, rtol=0)


def test_in_a_shared_table_target_words_stay_and_source_words_come_to_them(model_maker):
    model = model_maker(
        source_vocab_size=10, target_vocab_size=10, d_model=512, tie_embeddings="all"
    )
    before = model.source_embedding.tokens.weight.clone()
    torch.manual_seed(1)
    use_lexicon(model, LEXICON)
    table = model.target_embedding.tokens.weight
    assert table is model.source_embedding.tokens.weight
    assert table is model.output_projection.weight
    for token in (6, 7, 8, 9):
        assert cosine(table[token], before[token]) > 0.999
    assert abs(cosine(table[4], before[7]) - SHARE) < 0.1


def test_a_trainer_begins_by_the_lexicon_of_its_text(train_config, model_config, copy_ids):
    def table(initial_embeddings: str) -> torch.Tensor:
        config = train_config(initial_embeddings=initial_embeddings)
        trainer = Trainer(config, model_config, copy_ids)
        return trainer.state.model.source_embedding.tokens.weight.detach()

    by_lexicon = table("lexicon")
    assert torch.equal(by_lexicon, table("lexicon"))
    assert not torch.allclose(by_lexicon, table("random"), atol=1e-2)


def test_a_word_of_both_sides_keeps_as_much_of_itself_as_it_is_a_target_word(model_maker):
    model = model_maker(
        source_vocab_size=10, target_vocab_size=10, d_model=512, tie_embeddings="all"
    )
    before = model.source_embedding.tokens.weight.clone()
    counts = LEXICON.target_counts.copy()
    counts[4] = 27  # and 9 as a source word
    torch.manual_seed(1)
    use_lexicon(model, LEXICON._replace(target_counts=counts))
    table = model.source_embedding.tokens.weight
    length = (0.75**2 + 0.25**2) ** 0.5
    assert abs(cosine(table[4], before[4]) - 0.75 / length) < 0.05
    assert abs(cosine(table[4], before[7]) - 0.25 * SHARE / length) < 0.1
