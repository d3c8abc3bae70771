"""`python -m pipeline translate` as a user runs it, on a graph that copies its source."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from transformer.serving.int8_probe import saturates
from transformer.serving.session import _find_cuda_problem

ROOT = Path(__file__).parents[2]
# Messages on one line, in one colour, whatever the terminal.
ENVIRONMENT = os.environ | {"COLUMNS": "200", "NO_COLOR": "1"}
TRANSLATE = [sys.executable, "-m", "pipeline", "translate"]


@pytest.fixture
def run(make_translator):
    folder = make_translator()

    def run_it(*arguments, stdin=b"", model=folder):
        command = [*TRANSLATE, "--model", model, "--device", "cpu", *arguments]
        return subprocess.run(
            command, input=stdin, capture_output=True, cwd=ROOT, env=ENVIRONMENT, check=False
        )

    return run_it


def output(done):
    assert (done.returncode, done.stderr.decode()) == (0, "")
    return done.stdout.decode()


def refusal(done, status=1):
    assert done.returncode == status
    message = done.stderr.decode()
    assert "Traceback" not in message
    return message


def test_sentences_are_arguments(run):
    assert output(run("un chat", "deux")) == "UN CHAT\nDEUX\n"


def test_standard_input_keeps_lines_empty_ones_too(run):
    assert output(run(stdin=b"un chat\r\n\n  \ndeux")) == "UN CHAT\n\n\nDEUX\n"


def test_a_file_is_read_line_by_line(run, tmp_path):
    file = tmp_path / "x.txt"
    file.write_text("un\n\ndeux\n" * 3000, encoding="utf-8")
    assert output(run("--file", file)) == "UN\n\nDEUX\n" * 3000


def test_a_document_goes_to_a_file_of_its_kind(run, tmp_path):
    source, target = tmp_path / "x.html", tmp_path / "y.html"
    source.write_text("<p>un <b>chat</b>\n", encoding="utf-8")
    assert output(run("--file", source, "--output", target)) == ""
    assert target.read_text(encoding="utf-8") == "<p>UN <b>CHAT</b>\n"
    assert "takes the one translation of a --file" in refusal(run("--output", target, "un"), 2)
    target.unlink()
    source.write_bytes(b"PK\x03\x04")
    assert f"{source}: is an archive" in refusal(run("--file", source, "--output", target))
    assert not target.exists()


def test_n_best_come_with_scores(run):
    lines = "-0.1400\tUN\n-1.1400\tUN\n\n-0.1400\tDEUX\n-1.1400\tDEUX\n"
    assert output(run("--num-best", "2", "un", "deux")) == lines
    assert output(run("--num-best", "2", stdin=b"un\ndeux\n")) == lines


def test_options_reach_the_search(run):
    done = run("--num-best", "2", "--beam-size", "3", "--length-penalty", "0", "un")
    assert output(done) == "-0.0300\tUN\n-1.0300\tUN\n"


def test_json_is_one_object_per_line(run):
    lines = output(run("--json", stdin="un\n\ndéjà\n".encode())).splitlines()
    first, second, third = map(json.loads, lines)
    best = {"text": "UN", "score": -0.14, "is_complete": True}
    assert first == {
        "source": "un",
        "unknown_words": [],
        "translations": [best],
        "source_language": "fr",
        "target_language": "en",
        "model_hash": "0123abcd" * 8,
        "precision": "float32" if saturates() else "int8",
        "provider": "cpu",
    }
    assert second["translations"] == [{"text": "", "score": 0.0, "is_complete": True}]
    assert third["source"] == "déjà"
    assert "déjà" in lines[2]


def test_precision_is_chosen(run):
    answer = json.loads(output(run("--json", "--precision", "float32", "un")))
    assert answer["precision"] == "float32"
    message = refusal(run("--precision", "float16", "un"))
    assert "precision = 'float16'" in message
    assert "it was left out: BLEU is 1.00 less" in message


def test_a_line_is_answered_before_the_next_is_sent(make_translator):
    command = [*TRANSLATE, "--model", make_translator(), "--device", "cpu"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=ROOT, bufsize=0) as process:
        for word in (b"un", b"", b"deux"):
            process.stdin.write(word + b"\n")
            assert process.stdout.readline() == word.upper() + b"\n"
        process.stdin.close()
        assert process.wait(timeout=10) == 0


def test_a_reader_that_leaves_ends_it_quietly(make_translator):
    command = [*TRANSLATE, "--model", make_translator(), "--device", "cpu"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=ROOT, bufsize=0
    ) as process:
        process.stdin.write(b"un\n")
        assert process.stdout.readline() == b"UN\n"
        process.stdout.close()
        process.stdin.write(b"deux\n")
        assert process.wait(timeout=10) == 141
        assert process.stderr.read() == b""


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_interrupt_ends_it_quietly(make_translator):
    command = [*TRANSLATE, "--model", make_translator(), "--device", "cpu"]
    pipe = subprocess.PIPE
    # A shell's background jobs, and so what CI starts there, inherit a SIGINT that is ignored.
    with subprocess.Popen(
        command,
        stdin=pipe,
        stdout=pipe,
        stderr=pipe,
        cwd=ROOT,
        bufsize=0,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        process.stdin.write(b"un\n")
        assert process.stdout.readline() == b"UN\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=10) == 130
        assert process.stderr.read() == b""


def test_bad_utf8_is_named_after_the_good_lines(run):
    done = run(stdin=b"un\nd\xe9j\xe0\n")
    assert done.stdout == b"UN\n"
    assert "standard input, line 2: not UTF-8" in refusal(done)


def test_a_too_long_sentence_is_named_after_the_lines_before_it(run):
    done = run(stdin=b"un\ndeux\n" + b"un " * 9 + b"\ntrois\n")
    assert done.stdout == b"UN\nDEUX\n"
    message = refusal(done)
    assert "standard input, line 3: it has 10 tokens, and this model holds 8" in message


def test_a_long_text_is_split_at_sentence_ends(run):
    done = run("Un chat dort. Deux chien dort. Trois chat dort.")
    assert output(done) == "UN CHAT DORT . DEUX CHIEN DORT . TROIS CHAT DORT .\n"


def test_a_translation_cut_at_its_limit_is_told(run, make_translator):
    search = {"max_length_factor": 0.25, "max_length_extra": 1}
    done = run("un deux trois", model=make_translator("short", search=search))
    assert done.stdout == b"UN DEUX\n"
    assert done.stderr == b"warning: sentence 1: cut at the length limit\n"


def test_unknown_words_are_told_beside_the_answer(run, make_translator):
    model = make_translator("listed", words=["un", "chat", "deux"])
    done = run("--json", stdin=b"un chat\ndeux ngozi !\n", model=model)
    assert done.stderr.decode() == (
        "warning: standard input, line 2: not in the training text: 'ngozi'; "
        "carried over or guessed\n"
    )
    unknown = [json.loads(line)["unknown_words"] for line in done.stdout.splitlines()]
    assert unknown == [[], ["ngozi"]]


def test_of_many_unknown_words_a_few_are_named(run, make_translator):
    model = make_translator("listed", words=["un"])
    done = run("un ab cd ef gh. Ij kl mn op. Qr st.", model=model)
    assert done.returncode == 0
    assert "'ab', 'cd', 'ef', 'gh', 'ij', 'kl', 'mn', 'op' and 2 more;" in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--beam-size", "0", "un"], "--beam-size"),
        (["--num-best", "x", "un"], "--num-best"),
        (["--length-penalty", "-1", "un"], "--length-penalty"),
        (["--device", "tpu", "un"], "--device"),
        (["--precision", "int4", "un"], "--precision"),
        (["--beam", "4", "un"], "--beam-size"),
        (["-5 degrés"], "put -- before the texts: translate -- '-5 degrés'"),
        (["un", "-5"], "put -- before the texts: translate -- -5"),
        (["--file", "no-such-file"], "no-such-file"),
        (["--file", "README.md", "un"], "give sentences or a file, not both"),
    ],
)
def test_wrong_options_are_refused(run, arguments, message):
    assert message in refusal(run(*arguments), status=2)


def test_texts_behind_two_dashes_may_begin_with_one(run):
    assert output(run("--", "- un chat", "-deux")) == "<unk> UN CHAT\n<unk> DEUX\n"


@pytest.mark.skipif(_find_cuda_problem() is None, reason="CUDA is there")
def test_cuda_that_is_not_there_is_one_line(run):
    message = refusal(run("--device", "cuda", "un"))
    assert message.startswith("error: provider = 'cuda': this")
    assert message.count("\n") == 1


def test_more_translations_than_beams_are_refused(run):
    message = refusal(run("--num-best", "5", "un"))
    assert "num_best = 5: must be from 1 to beam_size = 4" in message


def test_a_missing_model_is_refused_in_words(run, tmp_path):
    message = refusal(run("un", model=tmp_path / "nowhere"))
    assert "holds no translator" in message
    assert "dvc repro" in message


def test_it_works_where_only_the_base_dependencies_are_installed(make_translator):
    block = (
        "import sys, runpy\n"
        "class Blocker:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in BLOCKED: raise ModuleNotFoundError(name, name=name)\n"
        "BLOCKED = {'torch', 'dvc', 'mlflow', 'datasets', 'pyarrow', 'onnx', 'sacrebleu', 'ruamel',"
        " 'matplotlib', 'safetensors', 'onnxscript', 'tqdm', 'filelock', 'psutil', 'pandas'}\n"
        "sys.meta_path.insert(0, Blocker())\n"
        "sys.argv = ['pipeline', *sys.argv[1:]]\n"
        "runpy.run_module('pipeline', run_name='__main__')\n"
    )
    command = [sys.executable, "-c", block, "translate", "--model", make_translator(), "un chat"]
    done = subprocess.run(command, capture_output=True, cwd=ROOT, check=False)
    assert output(done) == "UN CHAT\n"


@pytest.mark.parametrize(
    "option", [["--json"], ["--beam-size", "4"], ["--num-best", "2"], ["--precision", "int8"]]
)
def test_a_trace_goes_with_nothing_that_it_does_not_do(run, option):
    assert option[0] in refusal(run("--trace", *option, "un"), status=2)
