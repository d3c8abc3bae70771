"""`synthesize`: training pairs that a translator makes; nothing if switched off."""

import typer


def synthesize() -> None:
    """Let a translator make training pairs, if asked to: data/synthetic."""
    from pipeline.params import load_section
    from pipeline.paths import MONOLINGUAL, RAW, REPORTS, SYNTHETIC, TEACHER
    from pipeline.repository import SYNTHESIS, hash_code, main_checkout
    from transformer.files import write_json
    from transformer.synthesis.config import SynthesisConfig
    from transformer.text.manifest import check_parts
    from transformer.text.synthetic import describe, write_nothing

    config = load_section("synthesize", SynthesisConfig)
    if config.kind == "none":
        write_nothing(SYNTHETIC)
        write_json(REPORTS / "synthesize.json", describe(None))
        typer.echo(f"No pairs are made: synthesize.kind is none. -> {SYNTHETIC}")
        return

    from transformer.synthesis.made import choose_folder
    from transformer.synthesis.making import synthesize as make

    check_parts(RAW, "download", ("train",))
    typer.echo(f"{config.kind}: translating by {TEACHER}")
    states = choose_folder(main_checkout() / SYNTHESIS, hash_code("synthesize"))
    made = make(config, RAW, TEACHER, MONOLINGUAL, SYNTHETIC, states)
    write_json(REPORTS / "synthesize.json", describe(made))
    typer.echo(
        f"{made.num_pairs} pairs of {made.num_texts} texts, by the model {made.model_hash[:12]}; "
        f"{made.num_untranslatable} texts can't be translated, {made.num_incomplete} translations "
        f"reached the length limit\n-> {SYNTHETIC}"
    )
