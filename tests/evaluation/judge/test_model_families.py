from __future__ import annotations

from evaluation.judge.model_families import families_of, family_conflicts


def test_families():
    assert families_of("Qwen/Qwen2.5-7B-Instruct") == {"Qwen"} and families_of("o3-mini") == {"OpenAI"}
    assert families_of("meta-llama/Llama-3-8B") == {"Meta"}
    assert family_conflicts("claude-x", writers=["gpt2-xl"], authors=["gpt-4"]) == []
    assert len(family_conflicts("gpt-4", writers=["gpt2-xl"], authors=["gpt-4"])) == 2
    assert "not known" in family_conflicts("mystery", writers=["gpt2-xl"])[0]


def test_a_derived_model_is_of_the_family_it_comes_from():
    assert families_of("NousResearch/Hermes-3-Llama-3.1-8B") == {"Meta"} == families_of("lmsys/vicuna-7b-v1.5")
    (flag,) = family_conflicts("deepseek-r1-distill-qwen-7b", writers=["Qwen/Qwen2.5-7B", "gpt2-xl"])
    assert "both of Qwen" in flag and "gpt2-xl" not in flag
    assert families_of("ft:gpt-4o-mini-2024-07-18:acme::abc") == {"OpenAI"}
    assert families_of("codellama-7b") == {"Meta"} == families_of("TinyLlama-1.1B-Chat-v1.0")
    assert families_of("gpt-j-6B") == {"EleutherAI"} and families_of("our-own-7b") == set()


def test_the_embedded_model_is_of_its_own_family() -> None:
    """As a writer it is called "embedded", as a judge by its whole name: nothing was flagged."""
    (conflict,) = family_conflicts("SmolLM2-135M-Instruct-embedded-Q4_1+embedded", writers=["embedded@90cedc8d"])
    assert "both of Hugging Face" in conflict
