"""Where models come from: folders, GGUF files, device maps; and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from curation.files import local_models
from curation.files.model_packages import EMBEDDED
from evaluation.engines.environment import environment
from evaluation.inference.scoring import score
from evaluation.models import loading
from evaluation.models.language_model import LM
from schemas.core.errors import ModelError
from schemas.probes import ScoreProbe
from tests.support.fake_device import fake_gpu
from tests.support.tiny import make

PROBE = ScoreProbe(purpose="fact", item="i", prompt="The capital of Peru is", targets=("Lima", "São Tomé"))


@pytest.fixture(autouse=True)
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCEDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DEACTIVATE_ASYNC_LOAD", "1")  # a fake device is seen by one thread


def saved(kind: str, folder: Path, **more: Any) -> tuple[LM, Path]:
    lm = make(kind)
    lm.model.save_pretrained(folder, **more)
    lm.tokenizer.save_pretrained(folder)
    return lm, folder


def test_weights_that_do_not_fit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, folder = saved("llama", tmp_path / "m")
    from transformers import AutoModelForCausalLM

    real = AutoModelForCausalLM.from_pretrained

    def half_away(*args: Any, **more: Any) -> Any:
        model, report = real(*args, **{k: v for k, v in more.items() if k != "device_map"})
        model.model.layers[2].to("meta")
        return model, report

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", half_away)
    with pytest.raises(ModelError, match=r"do not fit into the devices at hand \(model.layers.2"):
        LM.load(str(folder), device="map")


def gguf(lm: LM, path: Path) -> Path:
    """A llama written as GGUF in float32, by the gguf package."""
    import gguf as g

    config, tok = lm.model.config, lm.tokenizer
    vocabulary = sorted(tok.get_vocab().items(), key=lambda kv: kv[1])
    merges = json.loads(tok.backend_tokenizer.to_str())["model"]["merges"]
    fields = {
        "block_count": config.num_hidden_layers,
        "context_length": config.max_position_embeddings,
        "embedding_length": config.hidden_size,
        "feed_forward_length": config.intermediate_size,
        "head_count": config.num_attention_heads,
        "head_count_kv": config.num_key_value_heads,
        "layer_norm_rms_eps": config.rms_norm_eps,
        "rope_freq_base": 10000.0,
        "vocab_size": len(tok),
        "tokenizer_model": "gpt2",
        "tokenizer_pre": "default",
        "token_list": [t for t, _ in vocabulary],
        "token_types": [3 if t in ("<s>", "</s>") else 1 for t, _ in vocabulary],
        "token_merges": [" ".join(m) if isinstance(m, list) else m for m in merges],
        "bos_token_id": 0,
        "eos_token_id": 1,
    }
    writer = g.GGUFWriter(str(path), "llama")
    for field, value in fields.items():
        getattr(writer, f"add_{field}")(value)
    names = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
    inner = {
        "self_attn.q_proj": "attn_q",
        "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v",
        "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate",
        "mlp.up_proj": "ffn_up",
        "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm",
        "post_attention_layernorm": "ffn_norm",
    }
    for i in range(config.num_hidden_layers):
        names |= {f"model.layers.{i}.{a}": f"blk.{i}.{b}" for a, b in inner.items()}
    for name, tensor in lm.model.state_dict().items():
        data = tensor.numpy()
        heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
        for part, n in heads.items():
            if part in name:  # GGUF keeps the two halves of rotated pairs interleaved
                rows, columns = data.shape
                data = data.reshape(n, 2, rows // n // 2, columns).swapaxes(1, 2).reshape(rows, columns)
        writer.add_tensor(f"{names[name.removesuffix('.weight')]}.weight", np.ascontiguousarray(data))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_is_converted_once_in_silence_and_scores_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lm = make("llama", bos=False)
    path = gguf(lm, tmp_path / "My Model.gguf")
    capfd.readouterr()
    again = LM.load(str(path), device="cpu")
    assert capfd.readouterr() == ("", ""), "no progress bar or warning of a library"
    (want,), (got,) = score(lm, [PROBE]), score(again, [PROBE])
    assert [t.logprob for t in got.targets] == pytest.approx([t.logprob for t in want.targets], abs=1e-3)
    (folder,) = (tmp_path / "cache" / "models").iterdir()
    assert folder.name.startswith("My Model-") and list(folder.glob("*.safetensors"))
    monkeypatch.setattr(loading, "_convert", lambda *_: pytest.fail("converted twice"))
    assert LM.load(str(path), device="cpu").revision == again.revision


def test_what_is_no_gguf_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.gguf").write_bytes(b"GGUF but not really")
    with pytest.raises(ModelError, match="GGUF file cannot be read"):
        LM.load(str(tmp_path / "bad.gguf"), device="cpu")
    with pytest.raises(ModelError, match="cannot be read: No such file"):
        LM.load(str(tmp_path / "absent.gguf"), device="cpu")
    assert not list((tmp_path / "cache" / "models").glob("*")), "nothing half made stays behind"


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    lm, folder = saved("gpt2", tmp_path / "m")
    (folder / "model.safetensors").unlink()
    torch.save(lm.model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="safetensors"):
        LM.load(str(folder), device="cpu")


def test_a_models_own_code_is_refused_unless_asked_for(tmp_path: Path) -> None:
    _, folder = saved("gpt2", tmp_path / "m")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config |= {
        "model_type": "mine",
        "architectures": ["Mine"],
        "auto_map": {"AutoConfig": "mine.MineConfig", "AutoModelForCausalLM": "mine.Mine"},
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "mine.py").write_text(
        f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
        "from transformers import GPT2Config, GPT2LMHeadModel\n"
        "class MineConfig(GPT2Config):\n    model_type = 'mine'\n"
        "class Mine(GPT2LMHeadModel):\n    config_class = MineConfig\n",
        encoding="utf-8",
    )
    with pytest.raises(ModelError, match=r"brings its own code; read it, load it with transformers"):
        LM.load(str(folder), device="cpu")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("/no/such/folder", "there is no such folder"),
        (" ", "no model is named"),
    ],
)
def test_absent_models(name: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        LM.load(name, device="cpu")


def test_weights_of_eight_bits_are_not_summed() -> None:
    model = nn.Module()
    model.register_parameter("w", nn.Parameter(torch.ones(2).to(torch.float8_e4m3fn), requires_grad=False))
    loading.refuse_nan(model, "m")
    model.register_parameter("scale", nn.Parameter(torch.tensor([1.0, torch.nan])))
    with pytest.raises(ModelError, match=r"1 weight holds NaN \(scale is the first"):
        loading.refuse_nan(model, "m")


def test_without_a_network_the_hub_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def no_network(*_: object, **more: object) -> None:
        asked.append(more)
        raise OSError("no route to host")

    import huggingface_hub

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(huggingface_hub, "get_session", lambda: SimpleNamespace(head=no_network))
    loading.hub_is_reachable.cache_clear()
    for _ in range(2):
        with pytest.raises(ModelError, match="no model of this name is on this machine, and the hub cannot be reached"):
            LM.load("nobody/nothing", device="cpu")
    assert len(asked) == 1 and loading.hub_options("nobody/nothing") == {"local_files_only": True}
    loading.hub_is_reachable.cache_clear()


def test_an_encoder_is_refused(tmp_path: Path) -> None:
    from transformers import T5Config, T5ForConditionalGeneration

    options = {"d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2, "vocab_size": 400}
    T5ForConditionalGeneration(T5Config(**options)).save_pretrained(tmp_path / "t5")
    make("gpt2").tokenizer.save_pretrained(tmp_path / "t5")
    with pytest.raises(ModelError, match="no decoder"):
        LM.load(str(tmp_path / "t5"), device="cpu")


def test_tokenizer_alone_and_the_embedded_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm, folder = saved("llama", tmp_path / "m")
    (folder / "model.safetensors").unlink()
    assert loading.load_tokenizer(str(folder))("Lima")["input_ids"] == lm.tokenizer("Lima")["input_ids"]
    monkeypatch.setattr(local_models, "embedded_gguf", lambda: Path("x.gguf"))
    monkeypatch.setattr(loading, "converted_folder", lambda path, name: folder)
    assert loading.source_of(EMBEDDED) == str(folder)


def test_tf32_is_said_refused_on_a_cpu_and_does_not_stay(tmp_path: Path) -> None:
    """Weights stay float32; second moments are summed exactly; the next model is exact again."""
    _, folder = saved("llama", tmp_path)
    with pytest.raises(ModelError, match="tf32 is a precision of CUDA devices"):
        LM.load(str(folder), device="cpu", dtype="tf32")
    with fake_gpu():
        assert environment("cuda:0")["accelerator"]["tf32"] is False
        lm = LM.load(str(folder), dtype="tf32")
        assert lm.dtype == torch.float32 and environment("cuda:0")["accelerator"]["tf32"] is True
        with loading.exact_products():
            assert torch.get_float32_matmul_precision() == "highest"
        assert torch.get_float32_matmul_precision() == "high"
        LM.load(str(folder), dtype="float32")
        assert environment("cuda:0")["accelerator"]["tf32"] is False


@pytest.mark.parametrize("device", ["auto", "cuda", "cuda:0", "map"])
def test_cudnn_makes_no_plans_for_the_attention_of_a_model_on_a_card(device: str, tmp_path: Path) -> None:
    _, folder = saved("llama", tmp_path)
    torch.backends.cuda.enable_cudnn_sdp(True)
    LM.load(str(folder), device="cpu")
    assert torch.backends.cuda.cudnn_sdp_enabled(), "a model on the CPU says nothing about cards"
    with fake_gpu():
        LM.load(str(folder), device=device, dtype="bfloat16")
        assert environment("cuda:0")["accelerator"]["cudnn_attention"] is False
    assert torch.backends.cuda.mem_efficient_sdp_enabled() and torch.backends.cuda.flash_sdp_enabled()


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("tokenizer_config.json", {"model_max_length": 6}),
        ("tokenizer_config.json", {"chat_template": "{{ messages[0]['content'] }}"}),
        ("generation_config.json", {"eos_token_id": 5}),
        ("chat_template.jinja", None),
        ("code.py", None),
    ],
)
def test_another_models_settings_are_another_revision(file: str, change: dict[str, Any] | None, tmp_path: Path) -> None:
    """The same weights that read or end texts in another way: answers of the one are none of the other's."""
    _, folder = saved("llama", tmp_path)
    first = LM.load(folder, device="cpu").revision
    assert loading.known_revision(str(folder)) == first
    (folder / "notes.txt").write_text("says nothing about answers", encoding="utf-8")
    assert LM.load(str(folder), device="cpu").revision == first
    path = folder / file
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps(told | change) if change else "# nothing", encoding="utf-8")
    assert LM.load(str(folder), device="cpu").revision != first


@pytest.mark.parametrize(
    ("dtype", "there", "warned"), [("bfloat16", False, 1), ("bfloat16", True, 0), ("float32", False, 0)]
)
def test_a_type_that_the_processor_does_not_multiply_is_said(
    dtype: str,
    there: bool,
    warned: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", lambda: there, raising=False)
    monkeypatch.setattr(torch.backends.mkldnn, "is_available", lambda: True)
    _, folder = saved("llama", tmp_path / "m")
    LM.load(str(folder), device="cpu", dtype=dtype)
    assert caplog.text.count("has no bfloat16 products: dtype = 'float32' is several times faster") == warned


def test_attention_that_is_not_the_usual_stands_in_keys(tmp_path: Path) -> None:
    """Keys that were made without asking, or asking for the usual, stay as they are."""
    make("llama").model.save_pretrained(tmp_path)
    make("llama").tokenizer.save_pretrained(tmp_path)
    by_choice = {a: LM.load(str(tmp_path), device="cpu", attention=a) for a in (None, "sdpa", "eager")}
    assert {a: lm.other_attention for a, lm in by_choice.items()} == {None: "", "sdpa": "", "eager": "eager"}
    assert [lm.other_numerics for lm in by_choice.values()] == [{}, {}, {"attention": "eager"}]
    assert len({lm.revision for lm in by_choice.values()}) == 1, "the same weights"
