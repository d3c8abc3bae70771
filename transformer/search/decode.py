"""Translation of a batch of token ids by a PyTorch model."""

import torch
from torch import Tensor

from transformer.model.transformer import Transformer
from transformer.search import beam, greedy, steps
from transformer.search.beam import SearchResult, SearchState
from transformer.search.greedy import GreedyState
from transformer.search.options import SearchOptions
from transformer.search.steps import GreedyRound, Round, SourceRows
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
    rows = SourceRows(cross, None)
    if options.beam_size == 1:
        answers = _search_greedily(
            model,
            steps.begin_greedy(has_source, rows, cache, max_lengths, special),
            inputs.length_penalty,
            most,
            special,
        )
    else:
        vocab_size = model.output_projection.out_features
        first = steps.begin(has_source, rows, cache, inputs, vocab_size, special)
        answers = _search_by_beams(model, first, most, special)
    return answers._replace(target=answers.target[:, :, : int(answers.lengths.max())])


def _search_greedily(
    model: Transformer,
    round: GreedyRound,
    length_penalty: Tensor,
    max_steps: int,
    special: SpecialIds,
) -> SearchResult:
    num_steps = 0
    while len(round.batch_indices):
        taken = [round.state.tokens[None, :, :][:0]]
        state, cache = round.state, round.cache
        while _goes_on(state, len(taken) - 1) and num_steps < max_steps:
            state, cache, _ = steps.greedy_step(
                model, round.max_lengths, round.source, state, cache, special
            )
            taken.append(state.tokens[None])
            num_steps += 1
        round = round._replace(state=state, cache=cache)
        round = steps.end_greedy_round(_active(state), round, torch.cat(taken), special)
    return greedy.finish(round.answers, length_penalty, special)


def _search_by_beams(
    model: Transformer, round: Round, max_steps: int, special: SpecialIds
) -> SearchResult:
    num_steps = 0
    while len(round.batch_indices):
        state, cache, start = round.state, round.cache, num_steps
        while _goes_on(state, num_steps - start) and num_steps < max_steps:
            state, cache, _ = steps.beam_step(
                model, round.constants, round.source, state, cache, special
            )
            num_steps += 1
        round = steps.end_round(_active(state), round._replace(state=state, cache=cache), special)
    return round.answers


def _goes_on(state: SearchState | GreedyState, num_steps: int) -> bool:
    # Whether a round does, of which so many steps have been done.
    is_asked = state.tokens.device.type == "cpu" or num_steps % STEPS_PER_CHECK == 0
    return not (is_asked and bool(steps.is_round_over(state)))


def _active(state: SearchState | GreedyState) -> Tensor:
    return (~state.is_row_done).flatten().nonzero().squeeze(1)
