"""Which file goes to which key."""

import unicodedata

from sakuin_cli.uploads import Upload, folder_path, uploads_of


def test_pages_and_learns_files_go_up_and_the_rest_stays() -> None:
    places = [("s/a.html", "a.html"), ("s/learns.yml", "learns.yml"), ("s/x.css", "x.css"), ("s/.html", ".html")]
    uploads = uploads_of(places, folder="junior", material_prefix="site/")
    assert uploads.files == (
        Upload("s/learns.yml", "site/junior/learns.yml", None),
        Upload("s/a.html", "site/junior/a.html", "junior/a"),
    )
    assert [page.path for page in uploads.pages] == ["s/a.html"]
    assert uploads.skipped == 2


def test_the_same_file_named_twice_is_one() -> None:
    assert len(uploads_of([("a.html", "a.html"), ("a.html", "a.html")]).files) == 1


def test_two_files_for_one_key_are_both_left_out() -> None:
    nfd = unicodedata.normalize("NFD", "が.html")
    uploads = uploads_of([("が.html", "が.html"), (nfd, nfd), ("b.html", "b.html")])
    assert [upload.path for upload in uploads.files] == ["b.html"]
    assert {upload.path for upload in uploads.clashes} == {"が.html", nfd}
    assert repr(nfd) in uploads.clash_reason(uploads.clashes[0])


def test_a_folder_ends_with_one_slash_and_begins_with_none() -> None:
    assert [folder_path(folder) for folder in ("", "/", "a", "/a//b/", "./a")] == ["", "", "a/", "a/b/", "a/"]
