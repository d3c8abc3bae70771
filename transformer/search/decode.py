"""Translation of a batch of token ids by a PyTorch model."""

import torch
from torch import Tensor

from transformer.model.transformer import CrossCache, SelfCache, Transformer
from transformer.search import beam, greedy, steps
from transformer.search.beam import SearchResult
from transformer.search.options import SearchOptions
from transformer.search.steps import Round, SourceRows
from transformer.text.special_tokens import SpecialIds

# On an accelerator asking whether a round is over waits for the queue; some idle steps cost less.
STEPS_PER_CHECK = 8


@torch.inference_mode()
def search(
    model: Transformer,
    source: Tensor,
    source_mask: Tensor,
    options: SearchOptions,
    special: SpecialIds,
    max_lengths: Tensor | None = None,
) -> SearchResult:
    """Beam search with a key/value cache; how it ranks and stops stands in `search.beam`.

    Each row gets the answer that it would get alone. A row of padding only gets an empty one.

    Args:
        model: in evaluation mode.
        source: int64 [B, S], each row ending with its end token, then padding.
        source_mask: bool [B, S], True at real tokens.
        options: what is looked for, and how.
        special: of the target vocabulary.
        max_lengths: int64 [B], the most target tokens of each row, end token included; None takes
            what the options say of its source.

    Raises:
        ValueError: a length that the model can't hold; a model in training mode.
    """
    if model.training:
        raise ValueError("the model is in training mode; call model.eval() before a search")
    device = source.device
    if max_lengths is None:
        lengths = source_mask.sum(1).tolist()
        max_lengths = torch.tensor([options.max_length(n) for n in lengths], device=device)
    most = int(max_lengths.max())
    if most > model.config.max_positions:
        raise ValueError(
            f"a maximum length of {most} tokens is more than model.max_positions = "
            f"{model.config.max_positions}; ask for less"
        )
    has_source, cross, cache = steps.encode(model, source, source_mask)
    inputs = beam.make_inputs(options, max_lengths)
    if len(source) == options.beam_size == 1:
        limit = max_lengths * has_source
        return _search_greedily(model, cross, cache, limit, inputs.length_penalty, special)
    rows = SourceRows(cross, None)
    vocab_size = model.output_projection.out_features
    round = steps.begin(has_source, rows, cache, inputs, vocab_size, special)
    num_steps = 0
    while len(round.batch_indices):
        round, num_steps = _run_round(model, round, num_steps, most, special)
        active = (~round.state.is_row_done).nonzero().squeeze(1)
        round = steps.end_round(active, round, special)
    answers = round.answers
    return answers._replace(target=answers.target[:, :, : int(answers.lengths.max())])


def _search_greedily(
    model: Transformer,
    cross: CrossCache,
    cache: SelfCache,
    max_length: Tensor,
    length_penalty: Tensor,
    special: SpecialIds,
) -> SearchResult:
    state = greedy.init_state(max_length, special)
    taken = [state.token[:0]]
    while greedy.goes_on(state, max_length, special):
        state, cache, _ = steps.greedy_step(model, cross, state, cache, special)
        taken.append(state.token)
    return greedy.finish(torch.cat(taken), state.total, length_penalty)


def _run_round(
    model: Transformer, round: Round, num_steps: int, max_steps: int, special: SpecialIds
) -> tuple[Round, int]:
    # `num_steps` have been done before; the second result is how many have then.
    state, cache = round.state, round.cache
    steps_per_check = 1 if state.tokens.device.type == "cpu" else STEPS_PER_CHECK
    for index in range(max_steps - num_steps):
        if index % steps_per_check == 0 and bool(beam.is_round_over(state)):
            break
        state, cache, _ = steps.beam_step(
            model, round.constants, round.source, state, cache, special
        )
        num_steps += 1
    return round._replace(state=state, cache=cache), num_steps
