"""Images as people have them: folders, archives, tables, arrays; and what cannot be used is refused by name."""

import io
import struct
import tarfile
import zlib

import numpy as np
import pytest
from PIL import Image

from trueness.errors import UserError
from trueness.kinds.image.data.datasets import load_images, photo_crops
from trueness.kinds.image.data.files import read_image_files
from trueness.kinds.image.data.images import from_arrays


def picture(colour=(200, 30, 30), size=(20, 24), mode="RGB"):
    return Image.new("RGB", size, colour).convert(mode)


@pytest.fixture
def folder(tmp_path):
    for split in ("train", "val", "test"):
        for name, colour in (("red", (250, 0, 0)), ("blue", (0, 0, 250))):
            place = tmp_path / "data" / split / name
            place.mkdir(parents=True)
            for number in range(3):
                picture(colour).save(place / f"{number}.png")
    return tmp_path / "data"


def test_a_folder_of_splits_and_classes(folder):
    data = load_images(str(folder), 16)
    assert data.classes == ("blue", "red")
    assert {name: len(some) for name, some in data.splits.items()} == {"train": 6, "dev": 6, "test": 6}
    assert data.size == (16, 16)
    assert data["train"].pixels[0].tolist() == np.full((16, 16, 3), (0, 0, 250)).tolist()
    assert data.pair("red", "blue")["test"].labels.tolist() == [1, 1, 1, 0, 0, 0]


def test_a_folder_of_classes_alone_and_the_same_as_an_archive_and_a_table(tmp_path):
    rows = ["path,label"]
    for name in ("a", "b"):
        (tmp_path / "data" / name).mkdir(parents=True)
        for number in range(10):
            picture((number * 20, 0, 0)).save(tmp_path / "data" / name / f"{number}.png")
            rows.append(f"data/{name}/{number}.png,{name}")
    data = load_images(str(tmp_path / "data"), 8)
    assert {name: len(some) for name, some in data.splits.items()} == {"train": 14, "dev": 4, "test": 2}
    with tarfile.open(tmp_path / "data.tar", "w") as archive:
        archive.add(tmp_path / "data", arcname=".")
    (tmp_path / "table.csv").write_text("\n".join(rows))
    for other in ("data.tar", "table.csv"):
        again = load_images(str(tmp_path / other), 8)
        for name, some in data.splits.items():
            assert np.array_equal(again[name].pixels, some.pixels)
            assert np.array_equal(again[name].labels, some.labels)


def bomb():
    """A valid header of a PNG of 100,000 by 100,000 pixels."""

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"0")) + chunk(b"IEND", b"")


def content(image, form="png", **how):
    kept = io.BytesIO()
    image.save(kept, form, **how)
    return kept.getvalue()


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("noise.png", b"no picture at all", "cannot be read as a picture"),
        ("short.jpg", content(picture(size=(300, 300)), "jpeg")[:700], "cannot be read as a picture"),
        ("bomb.png", bomb(), "pixels"),
        ("large.png", content(Image.new("1", (9000, 9000))), "more than 64 million"),
        ("dot.png", content(picture(size=(1, 1))), "a side of 8 is the least"),
        ("drawing.png", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 50 50\n", "cannot be read as a picture"),
        ("empty.gif", b"", "cannot be read as a picture"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(folder, name, data, said):
    (folder / "train" / "red" / name).write_bytes(data)
    with pytest.raises(UserError, match=said) as error:
        read_image_files(folder, 16)
    assert name in str(error.value)


def test_other_forms_are_converted_and_counted(folder):
    place = folder / "train" / "red"
    picture(mode="CMYK").save(place / "a.jpg")
    picture(mode="P").save(place / "b.png")
    picture(mode="L").save(place / "c.png")
    picture(mode="RGBA").save(place / "d.png")
    deep = Image.fromarray(np.full((20, 20), 65535, dtype=np.uint16))
    deep.save(place / "e.png")
    picture().save(place / "f.gif", save_all=True, append_images=[picture((0, 255, 0))])
    data = read_image_files(folder, 16)
    notes = " | ".join(data.notes)
    for said in ("mode CMYK", "mode P", "mode L", "transparent", "16 bits", "animated"):
        assert said in notes
    found = {tuple(one[0, 0].tolist()) for one in data["train"].pixels}
    assert (255, 255, 255) in found, "16 bits are scaled, not cut off"
    first = [one for one in found if abs(one[0] - 200) < 6 and one[1] < 40]
    assert first, "the first frame"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["red/a.png"], "holds one class"),
        (["a.png", "red/b.png"], "lies neither in"),
        (["train/red/a.png", "blue/b.png"], "is in no split"),
        (["train/red/a.png", "test/blue/b.png"], "no picture of class 'blue'"),
        ([], "holds no pictures"),
    ],
)
def test_folders_that_are_no_dataset(tmp_path, names, said):
    (tmp_path / "data").mkdir()
    for name in names:
        (tmp_path / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        picture().save(tmp_path / "data" / name)
    with pytest.raises(UserError, match=said):
        load_images(str(tmp_path / "data"), 8)


def test_tables_and_archives_that_cannot_be_read(tmp_path):
    (tmp_path / "table.csv").write_text("file,label\na.png,x\n")
    with pytest.raises(UserError, match="no column path"):
        load_images(str(tmp_path / "table.csv"))
    (tmp_path / "table.csv").write_text("path,label\nmissing.png,x\n")
    with pytest.raises(UserError, match=r"line 2: there is no file"):
        load_images(str(tmp_path / "table.csv"))
    (tmp_path / "data.tar").write_bytes(b"no archive")
    with pytest.raises(UserError, match="tar archive"):
        load_images(str(tmp_path / "data.tar"))
    with pytest.raises(UserError, match="photo-crops"):
        load_images("photo-crop")


def test_arrays_are_checked():
    pixels, labels = np.zeros((4, 8, 8)), np.array([0, 1, 0, 1])
    assert from_arrays({"test": (pixels, labels)})["test"].pixels.shape == (4, 8, 8, 3)
    assert from_arrays({"test": (pixels + 1, labels)})["test"].pixels.max() == 255
    for wrong, said in (
        ((pixels + 7, labels), "neither bytes nor"),
        ((pixels[0, 0], labels), "need the shape"),
        ((pixels, labels[:3]), "4 images and 3 labels"),
        ((pixels, labels / 2), "whole numbers"),
        ((pixels, labels * 0), "two classes or more"),
    ):
        with pytest.raises(UserError, match=said):
            from_arrays({"test": wrong})


def test_crops_are_always_the_same_and_need_nothing():
    one, other = (photo_crops(16, train=4, dev=2, test=2) for _ in range(2))
    assert np.array_equal(one["train"].pixels, other["train"].pixels)
    assert one["train"].labels.tolist() == [0] * 4 + [1] * 4
    assert one.size == (16, 16)


def test_pictures_that_are_all_the_same_leave_no_splits(tmp_path):
    for name in ("red", "blue"):
        (tmp_path / name).mkdir()
        for number in range(4):
            picture().save(tmp_path / name / f"{number}.png")
    with pytest.raises(UserError, match="too few examples for a split"):
        read_image_files(tmp_path, 16)
