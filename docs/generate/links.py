"""Links of the Markdown pages as they are on GitHub, made to work on the site as well.

A link that leads out of docs/ goes to the page that shows the file, or else to a copy of the file.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

# Files of the repository that are pages of the site.
PAGES = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add pages that lie outside of docs/, and copies of all other files that pages link."""
    root = Path(config.config_file_path).parent
    for name, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(root / name)))
    linked = {
        repository_path(file.src_uri, link)
        for file in files.documentation_pages()
        for _, link, _ in _LINK.findall(_CODE.sub("", file.content_string))
    }
    for path in sorted(linked - PAGES.keys()):
        if not path.startswith("docs/") and (root / path).is_file():
            files.append(File.generated(config, f"files/{path}", abs_src_path=str(root / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """A page's text with its links as they are on the site."""
    here = page.file.src_uri

    def moved(link: re.Match) -> str:
        target = site_path(repository_path(here, link[2]))
        if "://" in link[2] or files.get_file_from_path(target) is None:
            return link[0]  # elsewhere, or nowhere, which the build reports
        return link[1] + posixpath.relpath(target, posixpath.dirname(here) or ".") + link[3]

    parts = _CODE.split(markdown)
    parts[::2] = [_LINK.sub(moved, text) for text in parts[::2]]
    return "".join(parts)


def repository_path(page: str, link: str) -> str:
    """Where a link leads in the repository.

    Args:
        page: path of the page on the site that has it.
        link: as the page has it, without an anchor.
    """
    names = {site: name for name, site in PAGES.items()}
    source = names.get(page, f"docs/{page}")
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def site_path(path: str) -> str:
    """Path on the site of a file of the repository."""
    if path in PAGES:
        return PAGES[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"
