"""The direction of imports, and that `dvc.yaml` declares what the stages really use."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from pipeline import paths
from pipeline.repository import code_files, output_paths

ROOT = Path(__file__).parents[1]
DVC = YAML(typ="safe", pure=True).load((ROOT / "dvc.yaml").read_text())
STAGES = list(DVC["stages"])

# Who may import whom, besides itself and SHARED in transformer/.
ALLOWED = {
    "model": {"text"},
    "compute": set(),
    "text": {"compute"},
    "search": {"model", "text"},
    "evaluation": {"model", "search", "text"},
    "serving": {"compute", "text"},
    "training": {"model", "text"},
    "marian": {"model", "search", "text"},
    "monitoring": {"model", "text", "training"},
    "pretraining": {"model", "text", "training"},
    "synthesis": {"compute", "serving", "text"},
    "export": {"evaluation", "model", "search", "serving", "text"},
}
SHARED = {"allocator", "batches", "config", "files", "machine", "urls"}
# Light enough for all: what a translator's card says of its search and its model.
SHARED_SECTIONS = {Path("transformer/search/options.py"), Path("transformer/model/config.py")}

# These write no output of a stage: a change in them need not rerun it.
WITHOUT_OUTPUT = {
    Path("pipeline/elsewhere/record.py"),
    Path("pipeline/repository.py"),
    Path("pipeline/training/resume_folder.py"),
    Path("pipeline/training/stop_signals.py"),
    Path("pipeline/training/fingerprint.py"),
    Path("pipeline/training/log.py"),
    Path("pipeline/training/launcher.py"),
    *(
        file.relative_to(ROOT)
        for folder in ("pipeline/tracking", "transformer/monitoring")
        for file in (ROOT / folder).glob("*.py")
    ),
}


@cache
def imports(file: Path) -> frozenset[Path]:
    """The project's own files that a file imports anywhere in it, with their packages."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: a relative import; write the whole name"
            assert node.module is not None
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] not in ("transformer", "pipeline"):
                continue
            for end in range(1, len(parts) + 1):
                path = Path(*parts[:end])
                found |= {f for f in (path / "__init__.py", path.with_suffix(".py")) if is_file(f)}
    return frozenset(found)


def is_file(file: Path) -> bool:
    return (ROOT / file).is_file()


def closure(file: Path) -> set[Path]:
    """A file and all that it imports, directly or not, but for what writes no output."""
    seen: set[Path] = set()
    todo = {file}
    while todo:
        seen |= todo
        todo = {f for seen_file in todo for f in imports(seen_file)} - seen - WITHOUT_OUTPUT
    return seen


def has_code(file: Path) -> bool:
    """False for an `__init__` file that holds a docstring alone."""
    body = ast.parse((ROOT / file).read_text()).body
    return any(not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)) for n in body)


def declared_code(stage: str) -> set[Path]:
    """The Python files that a stage's dependencies in `dvc.yaml` name, folders opened."""
    files: set[Path] = set()
    for dependency in DVC["stages"][stage]["deps"]:
        path = ROOT / dependency
        if path.suffix == ".py":
            files.add(Path(dependency))
        elif dependency.startswith(("transformer", "pipeline")):
            files |= {file.relative_to(ROOT) for file in path.rglob("*.py")}
    return {file for file in files if has_code(file)}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_depends_on_the_code_that_it_imports_and_no_more(stage):
    needed = {file for file in closure(Path("pipeline/stages") / f"{stage}.py") if has_code(file)}
    assert declared_code(stage) == needed


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_declares_the_params_that_it_reads(stage):
    """Sections are read by `load_section(name, …)` and `load_sections((name, …), …)` only."""
    read = set()
    for node in ast.walk(ast.parse((ROOT / "pipeline/stages" / f"{stage}.py").read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "load_section":
                read.add(ast.literal_eval(node.args[0]))
            elif node.func.id == "load_sections":
                read |= {ast.literal_eval(pair.elts[0]) for pair in node.args}
    assert set(DVC["stages"][stage].get("params", [])) == read


def named_paths(file: Path) -> set[Path]:
    """What a file imports from `pipeline.paths`."""
    names = {
        alias.name
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "pipeline.paths"
        for alias in node.names
    }
    return {getattr(paths, name) for name in names} - {paths.PARAMS}


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_declares_the_paths_that_its_code_names(stage):
    named = {
        path for file in closure(Path(f"pipeline/stages/{stage}.py")) for path in named_paths(file)
    }
    read = {Path(path) for path in DVC["stages"][stage]["deps"] if "$" not in path}
    data = {path for path in read if path.parts[0] not in ("pipeline", "transformer")}
    declared = data | set(output_paths(stage))
    for path in declared:
        assert any(path.is_relative_to(one) for one in named), f"{path} has no name in the code"
    for path in named:
        assert any(path.is_relative_to(one) or one.is_relative_to(path) for one in declared), path


def test_stages_stand_in_an_order_in_which_they_can_run():
    done: set[Path] = set()
    made_by = {stage: set(output_paths(stage)) for stage in STAGES}
    for stage in STAGES:
        for name in DVC["stages"][stage]["deps"]:
            is_made = any(Path(name) in made for made in made_by.values())
            assert not is_made or Path(name) in done, f"{stage} stands before what makes {name}"
        done |= made_by[stage]


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_restored_where_it_ran_before(stage):
    """DVC saves no run of a stage that has an uncached output, unless it is a metric or plot."""
    outputs = DVC["stages"][stage]["outs"]
    assert all(isinstance(output, str) for output in outputs), "an output with options"


@pytest.mark.parametrize("stage", ["train", "pretrain"])
def test_a_resumed_training_warns_of_all_code_that_the_stage_depends_on(stage):
    assert {file for file in code_files(stage) if has_code(file)} == declared_code(stage)


@pytest.mark.parametrize("part", ALLOWED)
def test_imports_run_one_way(part):
    for file in (ROOT / "transformer" / part).rglob("*.py"):
        for imported in imports(file.relative_to(ROOT)):
            if imported.name == "__init__.py" or imported in SHARED_SECTIONS:
                continue
            assert imported.parts[0] == "transformer", f"{file} imports {imported}"
            owner = imported.parts[1] if len(imported.parts) > 2 else imported.stem
            assert owner in ALLOWED[part] | SHARED | {part}, f"{file} imports {imported}"


@pytest.mark.parametrize("part", ["training", "model", "search"])
def test_what_a_gpu_machine_runs_needs_neither_dvc_nor_mlflow(part):
    for file in (ROOT / "transformer" / part).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [name for name in names if name.split(".")[0] in ("dvc", "mlflow")]


@pytest.mark.parametrize("package", ["transformer", "pipeline"])
def test_nothing_that_is_installed_imports_the_benchmarks(package):
    for file in (ROOT / package).rglob("*.py"):
        assert "benchmarks" not in {name.split(".")[0] for name in imported_names(file)}, file


@pytest.mark.parametrize("name", ["decoding.ctranslate2_engine"])
def test_what_runs_in_another_environment_imports_no_more_than_that_holds(name):
    seen, todo = set(), {f"benchmarks.{name}"}
    while todo:
        module = todo.pop()
        seen.add(module)
        file = ROOT / f"{module.replace('.', '/')}.py"
        names = imported_names(file)
        todo |= {name for name in names if name.startswith("benchmarks.")} - seen
        others = {name.split(".")[0] for name in names} - set(sys.stdlib_module_names)
        assert others <= {"benchmarks", "numpy", "ctranslate2"}, file


def imported_names(file: Path) -> set[str]:
    """The modules that a file imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module or "")
    return names


def modules_after(statement: str) -> set[str]:
    """The top-level modules in memory once a fresh process has run a statement."""
    code = f"{statement}; import sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    command = [sys.executable, "-c", code]
    return set(subprocess.check_output(command, cwd=ROOT, text=True).split())


HEAVY = {"torch", "mlflow", "datasets", "pyarrow", "onnxruntime", "numpy", "dvc", "sacrebleu"}


def test_the_command_line_imports_nothing_heavy_until_it_runs():
    assert not modules_after("import pipeline.__main__") & HEAVY


def test_the_service_stands_on_a_web_framework_only_where_requests_are_read():
    """So that batching, catalog, formats and keys can be used without one."""
    modules = modules_after("import transformer.serving.http.service")
    assert not modules & {"starlette", "uvicorn"}


def test_config_modules_import_nothing_heavy():
    modules = modules_after("import pipeline.schema")
    assert not modules & (HEAVY | {"tokenizers"})


@pytest.mark.parametrize("module", ["translator", "http.server", "http.service"])
def test_serving_loads_no_torch(module):
    modules = modules_after(f"import transformer.serving.{module}")
    assert not modules & {"torch", "mlflow", "dvc", "datasets", "pyarrow"}


@pytest.mark.parametrize("package", ["transformer", "pipeline", "benchmarks", "tools"])
def test_every_file_tells_its_purpose_in_a_line(package):
    for file in (ROOT / package).rglob("*.py"):
        docstring = ast.get_docstring(ast.parse(file.read_text()))
        assert docstring, f"{file} has no docstring"
        assert docstring.split("\n")[0].endswith((".", ":")), f"{file}: {docstring.split()[0]}"


def test_the_picture_in_the_readme_is_that_of_dvc_yaml():
    made_by = {
        str(out if isinstance(out, str) else next(iter(out))): stage
        for stage in STAGES
        for out in DVC["stages"][stage].get("outs", [])
    }
    edges = {
        f"{made_by[dependency]} --> {stage}"
        for stage in STAGES
        for dependency in DVC["stages"][stage]["deps"]
        if dependency in made_by
    }
    lines = (ROOT / "README.md").read_text().split("\n")
    assert {line.strip() for line in lines if " --> " in line} == edges
