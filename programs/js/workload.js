// A typical JavaScript workload: classes, closures, generators, promises, typed
// arrays, regular expressions, JSON, sorting and exceptions.

function* primes(limit) {
    const composite = new Uint8Array(limit + 1);
    for (let n = 2; n <= limit; n++) {
        if (composite[n]) continue;
        yield n;
        for (let k = n * n; k <= limit; k += n) composite[k] = 1;
    }
}

class Vector {
    constructor(x, y, z) { this.x = x; this.y = y; this.z = z; }
    plus(other) { return new Vector(this.x + other.x, this.y + other.y, this.z + other.z); }
    times(factor) { return new Vector(this.x * factor, this.y * factor, this.z * factor); }
    get length() { return Math.sqrt(this.x ** 2 + this.y ** 2 + this.z ** 2); }
}

function orbit(steps) {
    let place = new Vector(1, 0, 0.1), speed = new Vector(0, 0.9, 0.05);
    for (let i = 0; i < steps; i++) {
        const pull = place.times(-0.001 / place.length ** 3);
        speed = speed.plus(pull);
        place = place.plus(speed.times(0.001));
    }
    return place.length.toFixed(9);
}

function words(count) {
    let seed = 7;
    const text = [];
    for (let i = 0; i < count; i++) {
        seed = (seed * 1103515245 + 12345) & 0x7fffffff;
        text.push((seed % 4096).toString(36));
    }
    const counts = new Map();
    for (const match of text.join(" ").matchAll(/([a-z]+)(\d*)/g)) {
        counts.set(match[1], (counts.get(match[1]) || 0) + 1);
    }
    return [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).slice(0, 5);
}

function failures(count) {
    let caught = 0;
    for (let i = 0; i < count; i++) {
        try {
            if (i % 3 === 0) throw new RangeError("number " + i);
            null.property;
        } catch (error) {
            if (error instanceof RangeError || error instanceof TypeError) caught++;
        }
    }
    return caught;
}

async function relay(count) {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += await Promise.resolve(i);
    return sum;
}

const scale = Number(scriptArgs[1] || 1);
let count = 0, sum = 0;
for (const prime of primes(2000000 * scale)) { count++; sum += prime; }
console.log("primes", count, sum);
console.log("orbit", orbit(300000 * scale));
console.log("words", JSON.stringify(words(100000 * scale)));
console.log("failures", failures(200000 * scale));
const tree = (depth) => depth === 0 ? { leaf: true } : { left: tree(depth - 1), right: tree(depth - 1), depth };
const copy = JSON.parse(JSON.stringify(tree(15)));
console.log("tree", JSON.stringify(copy).length, copy.depth);
const numbers = Array.from({ length: 100000 * scale }, (_, i) => (i * 7919) % 100003);
console.log("sorted", numbers.sort((a, b) => a - b)[1234], numbers.reduce((a, b) => a + b, 0));
console.log("big", (3n ** 2000n % 1000000007n).toString());
relay(200000 * scale).then((sum) => console.log("relay", sum));
