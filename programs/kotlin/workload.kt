// Objects, collections, strings, exceptions, sequences and coroutines.

import kotlin.coroutines.*

sealed interface Tree
data class Node(val left: Tree, val right: Tree) : Tree
data class Leaf(val value: Int) : Tree

fun tree(depth: Int): Tree =
    if (depth == 0) Leaf(1) else Node(tree(depth - 1), tree(depth - 1))

fun sum(tree: Tree): Int = when (tree) {
    is Leaf -> tree.value
    is Node -> sum(tree.left) + sum(tree.right)
}

// Walks a tree by a sequence inside a sequence: each step suspends as often as the
// tree is deep.
fun leaves(tree: Tree): Sequence<Int> = sequence {
    when (tree) {
        is Leaf -> yield(tree.value)
        is Node -> {
            yieldAll(leaves(tree.left))
            yieldAll(leaves(tree.right))
        }
    }
}

// Green threads that wait for each other.
class Scheduler {
    private val ready = ArrayDeque<Pair<Continuation<Unit>, Unit>>()

    suspend fun pause() = suspendCoroutine<Unit> { ready.addLast(it to Unit) }

    fun spawn(body: suspend () -> Unit) {
        ready.addLast(body.createCoroutine(Continuation(EmptyCoroutineContext) { it.getOrThrow() }) to Unit)
    }

    fun run() {
        while (true) (ready.removeFirstOrNull() ?: return).first.resume(Unit)
    }
}

suspend fun work(scheduler: Scheduler, rounds: Int, depth: Int): Int {
    if (depth > 0) return work(scheduler, rounds, depth - 1) + 1
    var sum = 0
    for (i in 1..rounds) {
        scheduler.pause()
        sum += i
    }
    return sum
}

fun green(count: Int, rounds: Int): Long {
    val scheduler = Scheduler()
    var total = 0L
    repeat(count) { number ->
        scheduler.spawn {
            val sum = work(scheduler, rounds, number % 5)
            total += sum
        }
    }
    scheduler.run()
    return total
}

class Refused(val code: Int) : Exception("refused: $code")

fun refuse(n: Int): Int = if (n % 3 == 0) throw Refused(n) else n

fun exceptions(count: Int): Int {
    var caught = 0
    for (i in 0 until count) {
        try {
            caught += refuse(i) % 2
        } catch (refused: Refused) {
            caught += refused.code % 5
        } finally {
            caught += 1
        }
    }
    return caught
}

fun words(count: Int): String {
    var seed = 12345
    val counts = HashMap<String, Int>()
    repeat(count) {
        seed = seed * 1103515245 + 12345
        val word = ((seed ushr 8) % 3000).toString(36)
        counts[word] = (counts[word] ?: 0) + 1
    }
    return counts.entries.sortedWith(compareByDescending<Map.Entry<String, Int>> { it.value }.thenBy { it.key })
        .take(5).joinToString { "${it.key}=${it.value}" }
}

fun sieve(limit: Int): Int {
    val composite = BooleanArray(limit + 1)
    var count = 0
    for (n in 2..limit) {
        if (composite[n]) continue
        count++
        var k = n.toLong() * n
        while (k <= limit) {
            composite[k.toInt()] = true
            k += n
        }
    }
    return count
}

fun main() {
    var nodes = 0
    repeat(20) { nodes += sum(tree(16)) }
    println("trees $nodes")
    println("leaves ${leaves(tree(12)).sum()}")
    println("numbers ${generateSequence(1L) { it * 3 % 1000003 }.filter { it % 2 == 0L }.map { it * it }.take(500000).sum()}")
    println("yields ${sequence { var n = 0; while (true) yield(n++) }.take(1000000).fold(0L) { a, b -> a + b }}")
    println("green ${green(1000, 300)}")
    println("exceptions ${exceptions(300000)}")
    println("words ${words(300000)}")
    println("primes ${sieve(5000000)}")
    try {
        ArrayDeque<Int>().removeFirst()
    } catch (error: NoSuchElementException) {
        println("empty: ${error.message}")
    }
}
