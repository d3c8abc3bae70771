"""All that a run found, every single measurement included, as JSON."""

import json
from typing import Any

from benchmarks.decoding.contenders import Variant
from benchmarks.decoding.findings import Findings
from benchmarks.decoding.targets import beam_name


def as_json(findings: Findings) -> str:
    """JSON with one measurement a line, so that hundreds of them can be read and compared."""

    def name(variant: Variant) -> str:
        return f"{variant.contender}, {variant.setting} threads"

    columns = ["variant", "batch_size", "beam_size", "round", "seconds", "num_tokens", "others"]
    rows = [
        json.dumps(
            [
                name(one.variant),
                *one.cell,
                one.round_index,
                round(one.seconds, 6),
                one.num_tokens,
                None if one.others_share is None else round(one.others_share, 4),
            ]
        )
        for one in findings.measurements
    ]
    values: dict[str, Any] = {
        "notes": findings.notes,
        "versions": findings.versions,
        "load_seconds": {name(variant): seconds for variant, seconds in findings.loads.items()},
        "peak_bytes": {name(variant): size for variant, size in findings.peak_bytes.items()},
        "file_bytes": findings.file_bytes,
        "bleu": {f"{who}, {beam_name(beam)}": v for (who, beam), v in findings.bleu.items()},
        "equal_share": {
            f"{who}, {beam_name(beam)}": v for (who, beam), v in findings.equal_share.items()
        },
        "cold_start_seconds": findings.cold_start_seconds,
        "reasons": findings.reasons,
        "targets": [[one.text, one.found, one.target, one.word] for one in findings.verdicts()],
        "measurement_columns": columns,
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    lines.append('"measurements": [\n' + ",\n".join(rows) + "\n]")
    return "{\n" + ",\n".join(lines) + "\n}\n"
