"use strict";

startTheme(byId("theme"));
byId("linked").hidden = false;
const replay = new Replay(new Board(byId("board")));
inflated(byId("film").textContent.trim())
  .then((text) => replay.load(JSON.parse(text)))
  .catch((error) => { byId("status").textContent = `This browser cannot open the deals (${error}).`; });
