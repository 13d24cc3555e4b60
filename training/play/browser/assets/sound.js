/* Short synthesized sounds: a card played, a trick taken, the viewer's turn. Off by default. */

import { loadText, saveText, store, update } from "./store.js";

let context = null;

/** Play a fading tone. */
function tone(frequency, seconds, volume, kind = "sine", after = 0) {
  const oscillator = context.createOscillator();
  const gain = context.createGain();
  const at = context.currentTime + after;
  oscillator.type = kind;
  oscillator.frequency.setValueAtTime(frequency, at);
  oscillator.frequency.exponentialRampToValueAtTime(frequency * 0.7, at + seconds);
  gain.gain.setValueAtTime(volume, at);
  gain.gain.exponentialRampToValueAtTime(0.0001, at + seconds);
  oscillator.connect(gain).connect(context.destination);
  oscillator.start(at);
  oscillator.stop(at + seconds);
}

const SOUNDS = {
  card: () => tone(190, 0.07, 0.25, "triangle"),
  trick: () => [330, 440].forEach((frequency, number) => tone(frequency, 0.12, 0.12, "sine", 0.08 * number)),
  turn: () => tone(660, 0.16, 0.1),
  over: () => [392, 494, 587].forEach((frequency, number) => tone(frequency, 0.22, 0.12, "sine", 0.11 * number)),
};

function play(name) {
  if (!store.sound) return;
  context = context || new AudioContext();
  SOUNDS[name]();
}

/** Play at most one sound for a change of the table. */
export function playSound(before, table) {
  const [old, view] = [before.view, table.view];
  if (view.phase === null && old.phase !== null) play("over");
  else if (view.tricks.length > old.tricks.length) play("trick");
  else if (view.turn === table.yours && view.turn !== null && old.turn !== view.turn) play("turn");
  else if (view.trick.length > old.trick.length) play("card");
}

export function toggleSound() {
  update({ sound: !store.sound });
  saveText("noms-sound", store.sound ? "on" : "off", true);
  play("turn");
}

/** Turn sounds on if they were on before. */
export const startSound = () => update({ sound: loadText("noms-sound", true) === "on" });
