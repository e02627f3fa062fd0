/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Structures of counters, which are 64-bit numbers and nothing else: what is done to all of them
 * alike needs no list of their names.
 */
#ifndef RDMA_CORE_COUNTERS_H
#define RDMA_CORE_COUNTERS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace rdma
{

/// The numbers of a structure, in its order.
template <class T>
std::array<uint64_t, sizeof(T) / sizeof(uint64_t)>
NumbersOf(const T& counters)
{
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(uint64_t) == 0,
                  "nothing but counters");
    std::array<uint64_t, sizeof(T) / sizeof(uint64_t)> numbers;
    std::memcpy(numbers.data(), &counters, sizeof(T));
    return numbers;
}

/// The structure of these numbers.
template <class T>
T
CountersOf(const std::array<uint64_t, sizeof(T) / sizeof(uint64_t)>& numbers)
{
    T counters;
    std::memcpy(static_cast<void*>(&counters), numbers.data(), sizeof(T));
    return counters;
}

/// Each number of the one and of the other together.
template <class T>
T
SumOf(const T& a, const T& b)
{
    auto sum = NumbersOf(a);
    const auto more = NumbersOf(b);
    for (std::size_t i = 0; i < sum.size(); ++i)
    {
        sum[i] += more[i];
    }
    return CountersOf<T>(sum);
}

} // namespace rdma

#endif // RDMA_CORE_COUNTERS_H
