/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "values.h"

#include "../include/nccl.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace gpus
{

namespace
{

/// Floating-point numbers of 8 or 16 bits: a sign, an exponent, a mantissa.
template <class Bits, int exponentBits, bool hasInfinity>
struct Small
{
    static constexpr int kMantissa = static_cast<int>(sizeof(Bits)) * 8 - 1 - exponentBits;
    static constexpr int kBias = (1 << (exponentBits - 1)) - 1;
    static constexpr int kTop = (1 << exponentBits) - 1;

    static float Read(Bits bits)
    {
        const int exponent = (bits >> kMantissa) & kTop;
        const int mantissa = bits & ((1 << kMantissa) - 1);
        const float sign = (bits >> (kMantissa + exponentBits)) & 1 ? -1.0F : 1.0F;
        const bool isLast = mantissa == (1 << kMantissa) - 1;
        if (exponent == kTop && (hasInfinity || isLast))
        {
            return hasInfinity && mantissa == 0 ? sign * std::numeric_limits<float>::infinity()
                                                : std::numeric_limits<float>::quiet_NaN();
        }
        const int power = (exponent == 0 ? 1 : exponent) - kBias - kMantissa;
        const int whole = mantissa + (exponent == 0 ? 0 : 1 << kMantissa);
        return sign * std::ldexp(static_cast<float>(whole), power);
    }

    /// To the nearest, ties to even.
    static Bits Write(float value)
    {
        const auto sign =
            static_cast<Bits>(std::signbit(value) ? 1 << (kMantissa + exponentBits) : 0);
        const int infinity = hasInfinity ? kTop << kMantissa : (kTop << kMantissa) + Last();
        if (std::isnan(value))
        {
            return static_cast<Bits>(hasInfinity ? infinity + 1 + Last() / 2 : infinity);
        }
        const float size = std::fabs(value);
        if (size == 0)
        {
            return sign;
        }
        int exponent = 0;
        std::frexp(size, &exponent);
        // Value = mantissa x 2^power, with as many bits as there are.
        const int power = std::max(exponent - 1 - kMantissa, 1 - kBias - kMantissa);
        const float rounded = std::isinf(size) ? size : std::nearbyint(std::ldexp(size, -power));
        const int shift = power - (1 - kBias - kMantissa);
        const double bits = static_cast<double>(shift) * (1 << kMantissa) + rounded;
        return static_cast<Bits>(sign | static_cast<int>(std::min<double>(bits, infinity)));
    }

  private:
    static constexpr int Last()
    {
        return (1 << kMantissa) - 1;
    }
};

using Half = Small<uint16_t, 5, true>;
using Brain = Small<uint16_t, 8, true>;
using E4M3 = Small<uint8_t, 4, false>;
using E5M2 = Small<uint8_t, 5, true>;

/// accumulated = accumulated HOW values, element by element.
template <class T>
void
Combine(Reduction how, T* accumulated, const T* values, std::size_t count)
{
    switch (how)
    {
    case Reduction::kProd:
        for (std::size_t i = 0; i < count; ++i)
        {
            accumulated[i] = static_cast<T>(accumulated[i] * values[i]);
        }
        break;
    case Reduction::kMax:
        for (std::size_t i = 0; i < count; ++i)
        {
            accumulated[i] = std::max(accumulated[i], values[i]);
        }
        break;
    case Reduction::kMin:
        for (std::size_t i = 0; i < count; ++i)
        {
            accumulated[i] = std::min(accumulated[i], values[i]);
        }
        break;
    default:
        for (std::size_t i = 0; i < count; ++i)
        {
            accumulated[i] = static_cast<T>(accumulated[i] + values[i]);
        }
    }
}

/// Elements are stored as Stored, and computed as T: a piece at a time, which caches hold.
template <class T, class Stored, class Read, class Write>
void
ReduceAs(Reduction how,
         const std::vector<double>& scales,
         const std::vector<const char*>& sources,
         const std::vector<char*>& targets,
         std::size_t count,
         Read read,
         Write write)
{
    constexpr std::size_t kPiece = 2048;
    std::vector<T> accumulated(kPiece);
    std::vector<T> values(kPiece);
    std::vector<Stored> stored(kPiece);
    for (std::size_t begin = 0; begin < count; begin += kPiece)
    {
        const std::size_t length = std::min(kPiece, count - begin);
        const std::size_t bytes = length * sizeof(Stored);
        for (std::size_t s = 0; s < sources.size(); ++s)
        {
            std::memcpy(stored.data(), sources[s] + begin * sizeof(Stored), bytes);
            const T scale = scales.empty() ? T{} : static_cast<T>(scales[s]);
            for (std::size_t i = 0; i < length; ++i)
            {
                const T value = read(stored[i]);
                values[i] = scales.empty() ? value : static_cast<T>(value * scale);
            }
            if (s == 0)
            {
                std::swap(accumulated, values);
            }
            else
            {
                Combine(how, accumulated.data(), values.data(), length);
            }
        }
        for (std::size_t i = 0; i < length; ++i)
        {
            const T result = how == Reduction::kAvg
                                 ? static_cast<T>(accumulated[i] / static_cast<T>(sources.size()))
                                 : accumulated[i];
            stored[i] = write(result);
        }
        for (char* target : targets)
        {
            std::memcpy(target + begin * sizeof(Stored), stored.data(), bytes);
        }
    }
}

} // namespace

std::size_t
TypeBytes(int type)
{
    constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
    return type >= 0 && type < ncclNumTypes ? kBytes[type] : 0;
}

namespace
{

/// Calls `plain` with a number of the type, `small` with one of those of 8 or 16 bits and with
/// their bits; for no type, nothing.
template <class Plain, class WithSmall>
void
OfType(int type, const Plain& plain, const WithSmall& small)
{
    switch (type)
    {
    case ncclInt8:
        return plain(int8_t{});
    case ncclUint8:
        return plain(uint8_t{});
    case ncclInt32:
        return plain(int32_t{});
    case ncclUint32:
        return plain(uint32_t{});
    case ncclInt64:
        return plain(int64_t{});
    case ncclUint64:
        return plain(uint64_t{});
    case ncclFloat32:
        return plain(float{});
    case ncclFloat64:
        return plain(double{});
    case ncclFloat16:
        return small(Half{}, uint16_t{});
    case ncclBfloat16:
        return small(Brain{}, uint16_t{});
    case ncclFloat8e4m3:
        return small(E4M3{}, uint8_t{});
    case ncclFloat8e5m2:
        return small(E5M2{}, uint8_t{});
    default:
        break;
    }
}

} // namespace

double
Number(int type, const void* at)
{
    double number = 0;
    const auto plain = [at, &number](auto value) {
        std::memcpy(&value, at, sizeof(value));
        number = static_cast<double>(value);
    };
    const auto small = [at, &number](auto kind, auto bits) {
        std::memcpy(&bits, at, sizeof(bits));
        number = decltype(kind)::Read(bits);
    };
    OfType(type, plain, small);
    return number;
}

void
Reduce(int type,
       Reduction how,
       const std::vector<double>& scales,
       const std::vector<const char*>& sources,
       const std::vector<char*>& targets,
       std::size_t count)
{
    const auto plain = [&](auto example) {
        using T = decltype(example);
        const auto same = [](T value) { return value; };
        ReduceAs<T, T>(how, scales, sources, targets, count, same, same);
    };
    const auto small = [&](auto example, auto bits) {
        using Kind = decltype(example);
        using Bits = decltype(bits);
        ReduceAs<float, Bits>(how, scales, sources, targets, count, Kind::Read, Kind::Write);
    };
    OfType(type, plain, small);
}

} // namespace gpus
