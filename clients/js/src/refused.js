/** Why a document is not valid. Thrown inside the package; callers get it as a result. */
export class Refused extends Error {
  /**
   * @param {string} code a stable name for programs
   * @param {string} message for people
   * @param {{ help?: string | undefined, answer?: "invalid" | "undecidable" }} [more]
   */
  constructor(code, message, { help, answer = "undecidable" } = {}) {
    super(message);
    this.name = "Refused";
    this.code = code;
    /** What to do about it. */
    this.help = help;
    this.answer = answer;
  }
}
