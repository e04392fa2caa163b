"""Which file goes to which key."""

import unicodedata

from sakuin_cli.site.uploads import Upload, folder_path, uploads_of


def test_pages_and_learns_files_go_up_and_the_rest_is_named_with_a_reason() -> None:
    others = ("x.css", "x.md", "x.htm", "X.HTML", "learns.yaml", "../x.html", "404.html", "api/_modules/x.html")
    places = [("s/a.html", "a.html"), ("s/learns.yml", "learns.yml"), *((place, place) for place in others)]
    uploads = uploads_of(places, folder="junior", material_prefix="site/")
    assert uploads.files == (
        Upload("s/learns.yml", "site/junior/learns.yml", None),
        Upload("s/a.html", "site/junior/a.html", "junior/a"),
    )
    assert [page.path for page in uploads.pages] == ["s/a.html"]
    assert {one.path: one.reason for one in uploads.skipped} == {
        "x.css": "not HTML",
        "x.md": "Markdown: push the page that is built from it",
        "x.htm": "rename it to .html",
        "X.HTML": "rename it to .html",
        "learns.yaml": "rename it to .yml",
        "../x.html": "a key with the segment `..` is not accepted",
        "404.html": "made by the site generator",
        "api/_modules/x.html": "made by the site generator",
    }


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
