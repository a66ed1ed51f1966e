"""Encoders in files: real networks, made here, run by onnxruntime."""

import importlib
import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from otel_validation.errors import EncoderUnavailableError
from otel_validation.vision.encoder import FileEncoder

RNG = np.random.default_rng(7)


def picture(seed, size=(40, 60)):
    return np.random.default_rng(seed).integers(0, 256, (*size, 3)).astype(np.uint8)


def stripes(period):
    row = ((np.arange(64) // period) % 2 * 255).astype(np.uint8)
    return np.repeat(np.repeat(row[None, :, None], 64, 0), 3, 2)


def save(path, nodes, inputs, weights, *, output=("out", TensorProto.FLOAT, None), metadata=None):
    graph = helper.make_graph(
        nodes,
        "encoder",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info(*output)],
        [numpy_helper.from_array(values, name) for name, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    helper.set_model_props(model, metadata or {})
    onnx.save(model, path)
    return path


def embedding(path, *, shape=(1, 3, 32, 32), kind=TensorProto.FLOAT, tail=("pool",), metadata=None):
    """A convolution, a rectifier, and the mean over what they give: a small network of CLIP's kind of output."""
    nodes = [
        helper.make_node("Conv", ["picture", "kernel"], ["features"], strides=[4, 4]),
        helper.make_node("Relu", ["features"], ["positive"]),
    ]
    if "pool" in tail:
        nodes += [
            helper.make_node("GlobalAveragePool", ["positive"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
        ]
    last = {"pool": "flat", "map": "positive"}.get(tail[-1], "flat")
    if "tokens" in tail:
        nodes.append(helper.make_node("Unsqueeze", ["flat", "axis"], ["tokens"]))
        last = "tokens"
    nodes.append(helper.make_node("Identity", [last], ["out"]))
    weights = {"kernel": RNG.normal(size=(16, 3, 4, 4)).astype(np.float32), "axis": np.array([1], np.int64)}
    return save(path, nodes, [("picture", kind, shape)], weights, metadata=metadata)


def distance(path):
    """The mean absolute difference: what LPIPS is called like."""
    nodes = [
        helper.make_node("Sub", ["one", "two"], ["apart"]),
        helper.make_node("Abs", ["apart"], ["size"]),
        helper.make_node("ReduceMean", ["size"], ["out"], keepdims=0),
    ]
    inputs = [(name, TensorProto.FLOAT, ("n", 3, "h", "w")) for name in ("one", "two")]
    return save(path, nodes, inputs, {})


@pytest.mark.parametrize("tail", [("pool",), ("map",), ("pool", "tokens")])
def test_an_embedding_network_compares_pictures(tmp_path, tail):
    encoder = FileEncoder(embedding(tmp_path / "clip.onnx", tail=tail))
    encoder.warm_up()
    same, other = encoder.likeness(stripes(2), stripes(2)), encoder.likeness(stripes(2), stripes(16))
    assert same == pytest.approx(1.0)
    assert -1 <= other < 0.95


def test_a_network_of_any_size_gets_its_own(tmp_path):
    free = FileEncoder(embedding(tmp_path / "free.onnx", shape=("n", 3, "h", "w")))
    assert free.likeness(picture(1), picture(1)) == pytest.approx(1.0)
    assert free.likeness(picture(1), picture(2, (300, 500))) < 1


def test_a_distance_network_compares_pictures(tmp_path):
    encoder = FileEncoder(distance(tmp_path / "lpips.onnx"))
    encoder.warm_up()
    assert encoder.likeness(picture(1), picture(1)) == pytest.approx(1.0)
    assert encoder.likeness(picture(1), picture(2)) < 0.9


def test_colours_may_come_last_and_as_bytes(tmp_path):
    nodes = [
        helper.make_node("Cast", ["picture"], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMean", ["floats"], ["out"], axes=[1, 2], keepdims=0),
    ]
    path = save(tmp_path / "nhwc.onnx", nodes, [("picture", TensorProto.UINT8, (1, 16, 16, 3))], {})
    encoder = FileEncoder(path)
    red, blue = (np.asarray(Image.new("RGB", (20, 20), colour)) for colour in ("red", "blue"))
    assert encoder.likeness(red, red) == pytest.approx(1.0)
    assert encoder.likeness(red, blue) == pytest.approx(0.0)


def test_the_file_says_how_pictures_are_scaled(tmp_path):
    nodes = [helper.make_node("ReduceMean", ["picture"], ["out"], axes=[2, 3], keepdims=0)]
    told = {"mean": "[0, 0, 0]", "std": "[1, 1, 1]"}
    plain = save(tmp_path / "plain.onnx", nodes, [("picture", TensorProto.FLOAT, (1, 3, 8, 8))], {}, metadata=told)
    red, blue = (np.asarray(Image.new("RGB", (20, 20), colour)) for colour in ("red", "blue"))
    assert FileEncoder(plain).likeness(red, blue) == pytest.approx(0.0)
    centred = save(tmp_path / "centred.onnx", nodes, [("picture", TensorProto.FLOAT, (1, 3, 8, 8))], {})
    assert FileEncoder(centred).likeness(red, blue) < 0


@pytest.mark.parametrize(
    ("name", "said"), [("encoder.bin", "none of"), ("encoder.onnx", "no file"), ("encoder.pt", "no file")]
)
def test_a_file_that_is_not_there_is_told_at_once(tmp_path, name, said):
    with pytest.raises(EncoderUnavailableError, match=said):
        FileEncoder(tmp_path / name)


def refuses(path):
    with pytest.raises(EncoderUnavailableError) as caught:
        FileEncoder(path).warm_up()
    return str(caught.value)


def test_networks_that_cannot_be_used_say_why(tmp_path):
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"no network")
    assert "no ONNX network" in refuses(broken)
    identity = [helper.make_node("Identity", ["x"], ["out"])]
    words = save(
        tmp_path / "text.onnx",
        identity,
        [("x", TensorProto.INT64, (1, 77))],
        {},
        output=("out", TensorProto.INT64, None),
    )
    assert "image tower" in refuses(words)
    doubles = save(
        tmp_path / "double.onnx",
        identity,
        [("x", TensorProto.DOUBLE, (1, 3, 8, 8))],
        {},
        output=("out", TensorProto.DOUBLE, None),
    )
    assert "not supported" in refuses(doubles)
    number = [helper.make_node("ReduceMean", ["x"], ["out"], keepdims=0)]
    assert "no embedding" in refuses(save(tmp_path / "n.onnx", number, [("x", TensorProto.FLOAT, (1, 3, 8, 8))], {}))
    apart = [helper.make_node("Sub", ["x", "y"], ["out"])]
    inputs = [(name, TensorProto.FLOAT, (1, 3, 8, 8)) for name in "xy"]
    assert "no distance" in refuses(save(tmp_path / "d.onnx", apart, inputs, {}))


@pytest.mark.parametrize("told", [{"mean": "[1, 2]"}, {"std": "[1, 0, 1]"}, {"mean": "half"}, {"std": json.dumps({})}])
def test_metadata_that_cannot_be_used_says_so(tmp_path, told):
    assert "three numbers" in refuses(embedding(tmp_path / "told.onnx", metadata=told))


def test_an_even_answer_is_no_likeness(tmp_path):
    nodes = [helper.make_node("Mul", ["picture", "zero"], ["out"])]
    path = save(
        tmp_path / "zero.onnx", nodes, [("picture", TensorProto.FLOAT, (1, 3, 8, 8))], {"zero": np.zeros(1, np.float32)}
    )
    assert FileEncoder(path).likeness(picture(1), picture(1)) == 0.0


def has_torch():
    try:
        importlib.import_module("torch")
    except ImportError:
        return False
    return True


@pytest.mark.skipif(has_torch(), reason="torch is installed here")
def test_torchscript_without_torch_says_what_to_install(tmp_path):
    path = tmp_path / "encoder.pt"
    path.write_bytes(b"")
    assert "pip install torch" in refuses(path)
