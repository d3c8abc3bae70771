"""The decoder without a source is the decoder whose attention to it adds nothing."""

import torch

TARGET = torch.tensor([[2, 5, 6, 7, 8], [2, 9, 4, 4, 10]])


def test_it_is_the_decoder_with_attention_to_the_source_switched_off(model_maker):
    model = model_maker(with_biases=True, norm="pre")
    alone = model.decode(TARGET, None)
    memory = torch.randn(2, 3, 16)
    assert not torch.allclose(model.decode(TARGET, memory, None), alone, atol=1e-3)
    for layer in model.decoder:
        torch.nn.init.zeros_(layer.cross_attention.out_proj.weight)
        torch.nn.init.zeros_(layer.cross_attention.out_proj.bias)
    torch.testing.assert_close(model.decode(TARGET, memory, None), alone)


def test_a_position_sees_nothing_after_it(model_maker):
    for norm in ("pre", "post", "none"):
        model = model_maker(norm=norm)
        changed = TARGET.clone()
        changed[:, 3:] = 11
        before, after = model.decode(TARGET, None), model.decode(changed, None)
        torch.testing.assert_close(before[:, :3], after[:, :3])
        assert not torch.allclose(before[:, 3:], after[:, 3:], atol=1e-3)
