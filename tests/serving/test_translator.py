"""The translator's promises, on a graph that copies its source."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import onnx
import onnxruntime
import pytest

from transformer.files import sha256_file
from transformer.serving import translator as module
from transformer.serving.card import load_card, seal
from transformer.serving.translator import Translator, UntranslatableError
from transformer.text.cleaning import normalize_side
from transformer.text.tokenizer import TokenizerPair
from transformer.text.vocab_config import BpeSpec
from transformer.text.vocabulary import fit_tokenizer


@pytest.fixture
def translator(make_translator):
    return Translator(make_translator(), "cpu", num_threads=1)


def texts_of(answers):
    return [answer[0].text for answer in answers]


def test_order_is_kept_whatever_the_lengths(translator):
    texts = ["un chat dort .", "chien", "deux chien dort", "un", "trois chat"]
    assert texts_of(translator.translate(texts)) == [text.upper() for text in texts]


def test_a_batch_answers_as_one_by_one(translator, monkeypatch):
    texts = [" ".join(["un", "chat", "dort", "chien", "!"][: n % 5 + 1]) for n in range(23)]
    alone = [translator.translate([text])[0] for text in texts]
    assert translator.translate(texts) == alone
    monkeypatch.setattr(module, "MAX_SLOTS", {"cpu": 200})
    assert translator.translate(texts) == alone


def test_one_run_per_batch(translator, monkeypatch):
    runs = []
    run = onnxruntime.InferenceSession.run

    def counting_run(self, names, inputs):
        runs.append(inputs["source"].shape)
        return run(self, names, inputs)

    monkeypatch.setattr(onnxruntime.InferenceSession, "run", counting_run)
    translator.translate(["un", "deux chat dort", "trois"])
    assert runs == [(3, 4)]


def test_the_source_is_normalised_as_the_card_says(translator):
    assert texts_of(translator.translate(["  UN\u00a0\tChat "])) == ["UN CHAT"]


def test_words_that_the_training_text_never_had_are_told(make_translator):
    translator = Translator(make_translator(words=["un", "chat"]), "cpu", num_threads=1)
    assert translator.unknown_words("Un\u00a0chat, des chiens DES Ngozi") == [
        "des",
        "chiens",
        "ngozi",
    ]
    assert translator.unknown_words(" ") == []


def test_a_translator_without_a_list_of_words_knows_of_no_unknown_ones(translator):
    assert translator.unknown_words("Ngozi") == []


def test_marked_capitals_come_back(make_translator):
    spec = BpeSpec(kind="bpe", size=400, min_frequency=1, mark_case=True)
    tokenizer = fit_tokenizer(spec, ["un chat ngozi nasa"])
    pair = TokenizerPair(tokenizer, tokenizer)
    side = {"lowercase": False}
    folder = make_translator(tokenizer_sha256=pair.sha256, normalization={"source": side})
    pair.save(folder)
    card = json.loads((folder / "translator.json").read_text())
    card["files"]["meta.json"] = sha256_file(folder / "meta.json")
    (folder / "translator.json").write_text(json.dumps(seal(card)))
    translator = Translator(folder, "cpu", num_threads=1)
    assert texts_of(translator.translate(["Ngozi un chat NASA"])) == ["Ngozi un chat NASA"]


@pytest.mark.parametrize("text", ["", " ", "\t\u00a0\n"])
def test_nothing_is_translated_into_nothing(translator, text):
    answers = translator.translate(["un", text, "deux"], num_best=2)
    assert texts_of(answers) == ["UN", "", "DEUX"]
    assert [(best.score, best.is_complete) for best in answers[1]] == [(0.0, True)]


def test_no_texts_give_no_translations(translator):
    assert translator.translate([]) == []


def test_options_reach_the_graph(translator):
    ((best, second),) = translator.translate(["un"], beam_size=3, num_best=2, length_penalty=0.5)
    assert best.score == pytest.approx(-0.05 - 0.03)
    assert second.score == pytest.approx(-1 - 0.05 - 0.03)


def test_the_card_gives_the_defaults(translator):
    assert translator.translate(["un"])[0][0].score == pytest.approx(-0.1 - 0.04)


def test_a_long_text_is_split_at_sentence_ends_and_joined(translator):
    text = "Un chat dort. Deux chien! Trois chat dort? Quatre chien dort."
    expected = "UN CHAT DORT . DEUX CHIEN ! TROIS CHAT DORT ? QUATRE CHIEN DORT ."
    answers = translator.translate(["un", text, "deux"])
    assert texts_of(answers) == ["UN", expected, "DEUX"]
    assert answers[1][0].score == pytest.approx(-0.14)


def test_sentences_are_joined_without_spaces_where_the_language_has_none(make_translator):
    translator = Translator(make_translator(target_language="zh-Hans"), "cpu", num_threads=1)
    answers = translator.translate(["Un chat dort. Deux chien! Trois chat dort?"])
    assert texts_of(answers) == ["UN CHAT DORT .DEUX CHIEN !TROIS CHAT DORT ?"]


def test_a_text_of_the_very_limit_is_not_split(translator):
    text = "un . un . un . un"  # with the end token 8 tokens
    assert texts_of(translator.translate([text])) == [text.upper()]


def test_a_single_sentence_that_is_too_long_is_refused(translator):
    match = r"^text 2: it has 21 tokens, and this model holds 8; break it"
    with pytest.raises(UntranslatableError, match=match) as caught:
        translator.translate(["un", "un " * 20])
    assert caught.value.index == 1


def test_a_too_long_sentence_among_others_is_refused(translator):
    with pytest.raises(UntranslatableError, match="one of its 2 sentences has 12 tokens"):
        translator.translate(["Un chat dort. " + "Deux " * 10 + "."])


def test_no_n_best_list_is_made_up_for_a_split_text(translator):
    text = "Un chat dort. Deux chien dort. Trois chat dort."
    with pytest.raises(UntranslatableError, match="num_best = 2 can't be offered"):
        translator.translate([text], num_best=2)


def test_a_translation_that_met_its_length_limit_says_so(make_translator):
    search = {"max_length_factor": 0.25, "max_length_extra": 1}
    translator = Translator(make_translator(search=search), "cpu")
    ((best,),) = translator.translate(["un deux trois"])
    assert (best.text, best.is_complete) == ("UN DEUX", False)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"beam_size": 0}, "beam_size = 0: must be 1 or more"),
        ({"beam_size": 8}, "beam_size = 8: must be from 1 to 7"),
        ({"num_best": 0}, "num_best = 0: must be from 1"),
        ({"num_best": 5}, "num_best = 5: must be from 1 to beam_size = 4"),
        ({"length_penalty": -1.0}, "length_penalty = -1.0: must be from 0 to 5.0"),
        ({"patience": 0.5}, "patience = 0.5: must be 1 or more"),
        ({"patience": float("nan")}, "patience = nan: must be 1 or more"),
        ({"length_penalty": float("nan")}, "length_penalty = nan"),
    ],
)
def test_options_out_of_range_are_refused(translator, options, match):
    with pytest.raises(ValueError, match=match):
        translator.translate(["un"], **options)


def test_one_bare_text_is_refused(translator):
    with pytest.raises(ValueError, match=r"write \[text\]"):
        translator.translate("un chat")


def test_a_lone_surrogate_is_refused(translator):
    with pytest.raises(UntranslatableError, match="text 2: not valid Unicode"):
        translator.translate(["un", "ch\udce9t"])


def test_threads_share_a_translator(translator):
    words = ["un", "deux", "trois", "quatre", "chat", "chien"]
    texts = [[f"{a} {b} dort" for b in words] for a in words]
    answers = [None] * len(texts)

    def work(index):
        for _ in range(20):
            answers[index] = texts_of(translator.translate(texts[index]))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [[text.upper() for text in row] for row in texts]


def test_threads_with_mixed_inputs_and_options_answer_as_one_does(translator):
    texts = [
        ["un", "", "deux chat dort . trois chien", "\u00a0"],
        [],
        ["Un chat dort. Deux chien! Trois chat dort? Quatre chien dort."],
        ["un chat " * 3, "deux", "UN CHAT"],
        ["quatre"] * 40,
    ]
    options = [{}, {"beam_size": 1}, {"num_best": 2, "length_penalty": 0.0}]
    work = [(few, some) for few in texts for some in options]
    work.remove((texts[2], options[2]))  # a text that is split has one translation
    serial = [translator.translate(few, **some) for few, some in work]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(10):
            found = pool.map(lambda one: translator.translate(one[0], **one[1]), work)
            assert list(found) == serial


def test_batches_side_by_side_give_the_answers_of_one_after_another(make_translator, monkeypatch):
    monkeypatch.setattr(module, "MAX_SLOTS", {"cpu": 64})
    texts = ["un chat dort .", "deux", "trois chien", "", "quatre chat dort !"] * 20
    translator = Translator(make_translator(), "cpu", precision="int8")
    answers = {}
    for num_workers in (1, 3):
        translator._num_workers = num_workers
        answers[num_workers] = translator.translate(texts)
    assert answers[1] == answers[3]


@pytest.mark.parametrize(
    ("asked", "runs", "file"),
    [
        ("auto", "int8", "translator.int8.onnx"),
        ("int8", "int8", "translator.int8.onnx"),
        ("float32", "float32", "translator.onnx"),
    ],
)
def test_the_precision_that_runs_is_told(make_translator, monkeypatch, asked, runs, file):
    opened = []
    open_session = module.open_session

    def spy(path, *arguments):
        opened.append(path.name)
        return open_session(path, *arguments)

    monkeypatch.setattr(module, "open_session", spy)
    monkeypatch.setattr(module, "saturates", lambda: False)
    translator = Translator(make_translator(), "cpu", precision=asked)
    assert (translator.precision, translator.provider, opened) == (runs, "cpu", [file])


def test_a_processor_that_saturates_runs_float32_unless_told_otherwise(
    make_translator, monkeypatch
):
    monkeypatch.setattr(module, "saturates", lambda: True)
    folder = make_translator()
    assert Translator(folder, "cpu").precision == "float32"
    with pytest.warns(RuntimeWarning, match="int8 products saturate on this processor"):
        assert Translator(folder, "cpu", precision="int8").precision == "int8"


def test_cuda_that_does_not_start_gives_the_precision_of_the_cpu(make_translator, monkeypatch):
    monkeypatch.setattr(module, "expect_provider", lambda _: "cuda")
    monkeypatch.setattr(module, "saturates", lambda: False)
    open_session = module.open_session
    opened = []

    def fall_back(path, *arguments):
        opened.append(path.name)
        return open_session(path, "cpu", None)

    monkeypatch.setattr(module, "open_session", fall_back)
    translator = Translator(make_translator())
    assert (translator.precision, translator.provider) == ("int8", "cpu")
    assert opened == ["translator.onnx", "translator.int8.onnx"]


def test_a_precision_that_is_not_in_the_folder_is_refused(make_translator):
    with pytest.raises(ValueError, match=r"precision = 'float16': .* holds float32, int8 alone"):
        Translator(make_translator(), "cpu", precision="float16")


def test_a_tokenizer_of_another_model_is_refused(make_translator):
    folder = make_translator(tokenizer_sha256="f" * 64)
    with pytest.raises(ValueError, match="not the one that the graph was trained with"):
        Translator(folder)


def test_a_file_that_is_no_graph_is_refused(make_translator):
    folder = make_translator()
    (folder / "translator.onnx").write_bytes(b"not a graph")
    card = json.loads((folder / "translator.json").read_text())
    card["files"]["translator.onnx"] = sha256(b"not a graph").hexdigest()
    (folder / "translator.json").write_text(json.dumps(seal(card)))
    with pytest.raises(ValueError, match=r"can't open .*translator.onnx"):
        Translator(folder, precision="float32")


def test_a_graph_with_other_inputs_is_refused(make_translator):
    folder = make_translator()
    graph = onnx.load(folder / "translator.onnx")
    for node in graph.graph.node:
        node.input[:] = ["widest" if name == "max_length" else name for name in node.input]
    graph.graph.input[1].name = "widest"
    onnx.save(graph, folder / "translator.onnx")
    card = json.loads((folder / "translator.json").read_text())
    card["files"]["translator.onnx"] = sha256_file(folder / "translator.onnx")
    (folder / "translator.json").write_text(json.dumps(seal(card)))
    with pytest.raises(
        ValueError, match=r"its inputs are beam_size, .*widest, where .* max_length"
    ):
        Translator(folder, precision="float32")


def test_translating_imports_nothing_that_only_training_needs(make_translator):
    code = (
        "import sys; from transformer.serving.translator import Translator; "
        f"print(Translator({str(make_translator())!r}, 'cpu').translate(['un chat'])[0][0].text); "
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    answer, modules = subprocess.check_output([sys.executable, "-c", code], text=True).splitlines()
    assert answer == "UN CHAT"
    heavy = {"torch", "pyarrow", "mlflow", "dvc", "onnx", "datasets", "sacrebleu"}
    assert not heavy & set(modules.split())


def test_however_a_sentence_is_typed_it_gets_the_ids_of_the_training_text(
    make_translator, monkeypatch
):
    raw = "Un chat « dort\u202f»\u202f!?"
    folder = make_translator()
    card = load_card(folder)
    source = TokenizerPair.load(folder).source
    in_training = source.encode(normalize_side(raw, card.normalization.source))
    served = []
    monkeypatch.setattr(
        Translator, "run", lambda self, rows, options: served.extend(rows) or [[]] * len(rows)
    )
    typed = [raw, 'un chat "dort" ?!', "Un  chat “dort” !?!?", "Ｕｎ chat «\xa0dort » ？！"]
    Translator(folder, "cpu").translate(typed)
    assert served == [[*in_training, source.eos_id]] * len(typed)
