'use strict'

const test = require('node:test')
const assert = require('node:assert')
const { slug } = require('./slug.js')

test('spaces become dashes', () => {
  assert.strictEqual(slug('Hello World'), 'hello-world')
})

test('what is no letter is left out at the ends', () => {
  assert.strictEqual(slug('  What? '), 'what')
})
