'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { slug } = require('./slug.js')

test('spaces become dashes', () => {
  assert.strictEqual(slug('Hello World'), 'hello-world')
})

test('characters other than letters are trimmed at the ends', () => {
  assert.strictEqual(slug('  What? '), 'what')
})
