/* SPDX-License-Identifier: GPL-2.0-or-later */
import { render } from "preact";
import { Frame } from "./ui/Frame";
import { isPage } from "./pages";
import { startKeys } from "./lib/keys";
import { applyTheme, keysOn } from "./lib/prefs";
import { startRouter } from "./lib/router";
import "./app.css";

applyTheme();
startRouter(isPage);
startKeys(keysOn);
render(<Frame />, document.getElementById("app")!);
