"""Targets of images and vectors: their data and their models."""

import functools
import io
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from tests.fuzz.inputs import mangled, texts, values
from tests.fuzz.targets import Target, shown, spoiled

# Vectors


@functools.cache
def numbers() -> bytes:
    rng = np.random.default_rng(0)
    rows = [
        ",".join(f"{one:.3f}" for one in row) + f",{index % 2}" for index, row in enumerate(rng.normal(size=(24, 4)))
    ]
    return "\n".join(["a,b,c,d,label", *rows]).encode() + b"\n"


def rows():
    cell = st.sampled_from(["1", "-2.5", "1e308", "1e999", "nan", "inf", "", " ", "0x1", "1_0", "x", "9" * 400]) | texts
    line = st.lists(cell, min_size=3, max_size=5).map(",".join)
    return st.lists(line, min_size=1, max_size=6).map(
        lambda lines: "\n".join(["a,b,c,label", "1,2,3,0", "3,2,1,1", *lines]).encode(errors="replace")
    )


def take_vectors(given, folder):
    from trueness.kinds import KINDS, check_data

    path = folder / "data.csv"
    path.write_bytes(given)
    if KINDS["vector"].data.recognises(str(path)):
        shown(check_data(str(path)))
        for some in KINDS["vector"].data.read(str(path)).splits.values():
            assert np.isfinite(some.features).all(), "numbers that are not finite are taken"


@functools.cache
def mlp() -> Path:
    import trueness as tn

    folder = Path(tempfile.mkdtemp())
    (folder / "rows.csv").write_bytes(numbers())
    tn.train("mlp", str(folder / "rows.csv"), recipe="vector[epochs=1]").save(folder / "model")
    return folder / "model"


# Images


@functools.cache
def pictures() -> dict[str, bytes]:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 255, (16, 16, 3), dtype=np.uint8)
    found = {}
    for form in ("PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"):
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, form)
        found[f"x.{form.lower()}"] = file.getvalue()
    return found


@functools.cache
def several() -> list[bytes]:
    from PIL import Image

    files = [io.BytesIO() for _ in range(4)]
    for number, file in enumerate(files):
        Image.new("RGB", (16, 16), (60 * number, 0, 0)).save(file, "PNG")
    return [file.getvalue() for file in files]


def picture_files():
    one = st.sampled_from(sorted(pictures())).flatmap(lambda name: st.tuples(st.just(name), mangled(pictures()[name])))
    table = st.lists(texts, min_size=2, max_size=3).map(lambda cells: ",".join(cells).encode(errors="replace"))
    listed = table.map(lambda line: ("list.csv", b"path,label\na/0.png,a\nb/0.png,b\n" + line))
    return one | one | listed


def take_pictures(given, folder):
    from trueness.kinds import read_data

    name, content = given
    for label in ("a", "b"):
        (folder / label).mkdir()
        for number in range(4):
            (folder / label / f"{number}.png").write_bytes(several()[number])
    path = folder / name if name == "list.csv" else folder / "a" / name
    path.write_bytes(content)
    read_data(str(path if name == "list.csv" else folder), size=16)


@functools.cache
def cnn() -> Path:
    import trueness as tn
    from trueness.kinds.image.data.images import ImageDataset, Images

    folder = Path(tempfile.mkdtemp())
    pixels = np.random.default_rng(0).integers(0, 255, (8, 16, 16, 3), dtype=np.uint8)
    splits = {name: Images(pixels, np.arange(8) % 2) for name in ("train", "dev")}
    return tn.train("small-cnn", ImageDataset("noise", ("a", "b"), splits), recipe="image[epochs=1]").save(folder)


@functools.cache
def vit() -> Path:
    import transformers

    folder = Path(tempfile.mkdtemp())
    shape = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = transformers.ViTConfig(**shape, image_size=16, patch_size=4, num_labels=2)
    transformers.ViTForImageClassification(config).save_pretrained(folder)
    settings = {"image_processor_type": "ViTImageProcessor", "size": {"height": 16, "width": 16}}
    settings |= {"image_mean": [0.5] * 3, "image_std": [0.5] * 3}
    (folder / "preprocessor_config.json").write_text(json.dumps(settings))
    return folder


def take_other_model(source, given, folder):
    import trueness as tn
    from trueness.kinds.image.data.images import Images

    shutil.copytree(source(), folder / "model")
    (folder / "model" / given[0]).write_bytes(given[1])
    model = tn.load_model(folder / "model")
    side = model.network.size[0] if model.kind == "image" else 0
    if side > 64:  # a valid model that is asked for more work, and no other
        return
    data = Images(np.full((1, side, side, 3), 90, dtype=np.uint8), np.zeros(1, dtype=np.int64)) if side else [[1.0] * 4]
    (found,) = tn.explain(model, data, "gradient")
    assert np.isfinite(np.asarray(found.scores)).all(), "what is not finite is shown"


def models(source):
    """Its files changed, and some setting replaced by anything."""

    def put(drawn):
        settings = json.loads((source() / "config.json").read_text())
        return "config.json", json.dumps({**settings, drawn[0]: drawn[1]}).encode()

    keys = st.sampled_from(sorted(json.loads((source() / "config.json").read_text())))
    return spoiled(source()) | st.tuples(keys, values).map(put)


TARGETS = {
    "rows of numbers": Target(st.deferred(lambda: mangled(numbers()) | rows()), take_vectors, 12),
    "pictures": Target(st.deferred(picture_files), take_pictures, 8),
    "models of vectors": Target(st.deferred(lambda: models(mlp)), functools.partial(take_other_model, mlp), 8),
    "models of images": Target(st.deferred(lambda: models(cnn)), functools.partial(take_other_model, cnn), 6),
    "folders of images": Target(st.deferred(lambda: models(vit)), functools.partial(take_other_model, vit), 2),
}
