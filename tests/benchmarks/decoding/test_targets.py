"""What counts as met."""

from benchmarks.decoding.sampling import Cell
from benchmarks.decoding.targets import judge_bleu, judge_cold_start, judge_conversion, judge_speeds
from benchmarks.harness.rounds import Speeds

CELL = Cell(1, 1)


def words(verdicts):
    return {one.text: one.word for one in verdicts}


def test_int8_is_held_against_the_faster_of_ctranslate2s_precisions(measured):
    speeds = Speeds(
        measured("onnx-int8", [150])
        + measured("ctranslate2-int8", [80])
        + measured("ctranslate2-float32", [110])
    )
    assert words(judge_speeds(speeds, [CELL])) == {
        "int8 / CTranslate2's best, batch 1, greedy": "missed",
        "fp32 / CTranslate2's best fp32, batch 1, greedy": "not measured",
        "int8 / the tutorial's decoding, batch 1, greedy": "not measured",
    }


def test_a_ratio_at_the_target_meets_it(measured):
    speeds = Speeds(
        measured("onnx-int8", [150])
        + measured("ctranslate2-int8", [100])
        + measured("tutorial", [15])
        + measured("onnx-float32", [99])
        + measured("ctranslate2-float32", [100])
    )
    assert [one.word for one in judge_speeds(speeds, [CELL])] == ["met", "missed", "met"]


def test_bleu_may_fall_a_little():
    bleu = {("onnx-float32", 1): 38.0, ("onnx-int8", 1): 37.75, ("onnx-float32", 4): 39.0}
    assert words(judge_bleu(bleu, [1, 4])) == {
        "BLEU of int8 less fp32's, greedy": "met",
        "BLEU of int8 less fp32's, beam 4": "not measured",
    }
    assert judge_bleu(bleu | {("onnx-int8", 1): 37.6}, [1])[0].word == "missed"


def test_cold_start_and_conversion():
    assert [judge_cold_start(seconds).word for seconds in (0.4, 1.2, None)] == [
        "met",
        "missed",
        "not measured",
    ]
    assert [judge_conversion(share).word for share in (1.0, 0.98, None)] == [
        "met",
        "missed",
        "not measured",
    ]
