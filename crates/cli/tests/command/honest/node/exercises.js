'use strict';

exports.hello = (name = 'World') => `Hello, ${name}!`;
exports.leap = (year) => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
exports.roman = (number) => {
  if (number <= 0) throw new RangeError('only positive numbers');
  let text = '';
  for (const [value, letters] of [[1000, 'M'], [900, 'CM'], [500, 'D'], [400, 'CD'], [100, 'C'], [90, 'XC'], [50, 'L'], [40, 'XL'], [10, 'X'], [9, 'IX'], [5, 'V'], [4, 'IV'], [1, 'I']]) {
    while (number >= value) { text += letters; number -= value; }
  }
  return text;
};
exports.words = (text) => {
  const counts = {};
  for (const word of text.toLowerCase().match(/\w+/g) || []) counts[word] = (counts[word] || 0) + 1;
  return counts;
};
exports.area = (radius) => Math.PI * radius ** 2;
exports.primes = (limit) => {
  const found = [];
  for (let n = 2; n <= limit; n += 1) if (found.every((p) => n % p)) found.push(n);
  return found;
};
exports.later = async (value) => value;
exports.fails = async () => { throw new TypeError('no such thing'); };
exports.find = (list, value) => list.find((one) => one === value);
exports.Clock = class Clock {
  constructor(hour, minute = 0) { this.minutes = (((hour * 60 + minute) % 1440) + 1440) % 1440; }
  toString() {
    const two = (number) => String(number).padStart(2, '0');
    return `${two(Math.floor(this.minutes / 60))}:${two(this.minutes % 60)}`;
  }
  equals(other) { return this.minutes === other.minutes; }
};
