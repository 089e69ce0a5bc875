from __future__ import annotations

from evaluation.judge.model_families import family_conflicts, family_of


def test_families():
    assert family_of("Qwen/Qwen2.5-7B-Instruct") == "Qwen" and family_of("o3-mini") == "OpenAI"
    assert family_of("meta-llama/Llama-3-8B") == "Meta"
    assert family_conflicts("claude-x", writers=["gpt2-xl"], authors=["gpt-4"]) == []
    assert len(family_conflicts("gpt-4", writers=["gpt2-xl"], authors=["gpt-4"])) == 2
    assert "not known" in family_conflicts("mystery", writers=["gpt2-xl"])[0]
