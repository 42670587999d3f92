'use strict'

/** A title as part of a web address. */
function slug (title) {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '')
}

module.exports = { slug }
