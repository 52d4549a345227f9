-- A typical Lua workload: coroutines, closures, tables, strings and errors.

local function generate(n)
  return coroutine.wrap(function()
    for i = 1, n do coroutine.yield(i) end
  end)
end

local function filter(source, prime)
  return coroutine.wrap(function()
    for n in source do
      if n % prime ~= 0 then coroutine.yield(n) end
    end
  end)
end

-- A sieve: a chain of coroutines, one for each prime.
local function sieve(limit)
  local source = coroutine.wrap(function()
    for i = 2, limit do coroutine.yield(i) end
  end)
  local count, sum = 0, 0
  while true do
    local prime = source()
    if not prime then break end
    count, sum = count + 1, sum + prime
    source = filter(source, prime)
  end
  return count, sum
end

local function permutations(list, n)
  n = n or #list
  if n <= 1 then coroutine.yield(list) return end
  for i = 1, n do
    list[n], list[i] = list[i], list[n]
    permutations(list, n - 1)
    list[n], list[i] = list[i], list[n]
  end
end

local function queens(n)
  local solutions, columns, up, down = 0, {}, {}, {}
  local function place(row)
    if row > n then solutions = solutions + 1 return end
    for column = 1, n do
      local a, b = row + column, row - column + n
      if not (columns[column] or up[a] or down[b]) then
        columns[column], up[a], down[b] = true, true, true
        place(row + 1)
        columns[column], up[a], down[b] = nil, nil, nil
      end
    end
  end
  place(1)
  return solutions
end

local function words(count)
  local seen, seed = {}, 42
  for i = 1, count do
    seed = (seed * 1103515245 + 12345) % 2147483648
    local word = string.format("%x", seed % 5000):gsub("[0-4]", "-")
    seen[word] = (seen[word] or 0) + 1
  end
  local list = {}
  for word, n in pairs(seen) do list[#list + 1] = word .. ":" .. n end
  table.sort(list)
  return #list, list[1], list[#list], #table.concat(list, ",")
end

local function fails(count)
  local caught = 0
  for i = 1, count do
    local ok, message = pcall(function()
      if i % 2 == 0 then error({ code = i }) end
      return ("x"):rep(i % 7)
    end)
    if not ok and message.code == i then caught = caught + 1 end
  end
  return caught
end

local scale = tonumber(arg[1] or "1")
local count, sum = 0, 0
for i in generate(1000000 * scale) do sum = sum + i end
print("generator", sum)
-- Lua allows about 200 nested coroutines.
for i = 1, 50 * scale do count, sum = sieve(450) end
print("sieve", count, sum)
local last
count = 0
for list in coroutine.wrap(function() permutations({ 1, 2, 3, 4, 5, 6, 7, 8, 9 }) end) do
  count, last = count + 1, list[1]
end
print("permutations", count, last)
print("queens", queens(8 + scale))
print("words", words(200000 * scale))
print("errors", fails(200000 * scale))
local total = 0.0
for i = 1, 5000000 * scale do total = total + math.sin(i) * (i % 10) end
print("sines", string.format("%.6f", total))
print(select(2, pcall(error, "the end")))
