"""What a click can land on instead of the application."""

from __future__ import annotations

from enum import StrEnum


class Surface(StrEnum):
    """What a click can land on instead of the application."""

    TAB_STRIP = "tab_strip"
    ADDRESS_BAR = "address_bar"
    BOOKMARKS_BAR = "bookmarks_bar"
    BROWSER_POPUP = "browser_popup"
    BROWSER_MENU = "browser_menu"
    TASKBAR = "taskbar"
    MENU_BAR = "menu_bar"
    DOCK = "dock"
    TITLE_BAR = "title_bar"
    DESKTOP = "desktop"
    OS_DIALOG = "os_dialog"
