"""Times of nodes, from a profile's events."""

from benchmarks.decoding.profiling import describe, node_times


def event(name, operator, start, duration, category="Node"):
    return {
        "cat": category,
        "name": name,
        "ts": start,
        "dur": duration,
        "args": {"op_name": operator},
    }


EVENTS = [
    event("b_kernel_time", "MatMul", 120, 30),
    event("loop_kernel_time", "Loop", 100, 100),
    event("b_kernel_time", "MatMul", 160, 20),
    event("a_kernel_time", "Gather", 0, 50),
    event("run", "", 0, 300, category="Session"),
    event("a_fence_before", "Gather", 0, 5),
]


def test_a_loop_is_charged_for_itself_alone():
    times = {(one.name, round(one.seconds * 1e6)) for one in node_times(EVENTS)}
    assert times == {("a", 50), ("loop", 50), ("b", 30), ("b", 20)}


def test_tables_sum_over_iterations():
    operators, nodes = describe(node_times(EVENTS)).split("\n\n")
    assert "| MatMul | 0.000 | 33.3% | 2 | 25.0 |" in operators
    assert "| b | MatMul | 0.000 | 33.3% | 2 | 25.0 |" in nodes
