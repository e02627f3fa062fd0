/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Rows bound to the members of the structs that describe a run:
 *
 *   section.Flag("static-rate", "...").To(&IbSpec::staticRate)
 *   section.Name("kernels", "...").To(&TrainingOptions::kernels, ParseKernelSet)
 *
 * Validation::Fill(&spec) sets all members of a struct that rows are bound to.
 */
#ifndef SCENARIOS_OPTIONS_BINDING_H
#define SCENARIOS_OPTIONS_BINDING_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/member.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <vector>

namespace scenario
{

/// A value that passed the checks of its Option.
struct Value
{
    bool given = false;   ///< by the user, not a default
    bool present = false; ///< given or default
    std::string where;    ///< "--mtu" or "job.json: /fabric/mtu"
    std::string raw;      ///< as given
    bool flag = false;
    uint64_t integer = 0; ///< kInteger, kBytes, kRate, kDuration (ps)
    double real = 0;
    std::string text; ///< kName: the registry's spelling
    std::vector<std::string> list;
    Entries entries; ///< kEntries
};

/// A member of a struct, and how it gets its value.
struct Binding
{
    std::type_index type; ///< of the struct
    std::function<void(const Value&, void*)> set;
};

template <class T>
struct IsOptional : std::false_type
{
};

template <class T>
struct IsOptional<std::optional<T>> : std::true_type
{
};

template <class T>
T
ValueAs(const Value& value)
{
    if constexpr (std::is_same_v<T, bool>)
    {
        return value.flag;
    }
    else if constexpr (std::is_floating_point_v<T>)
    {
        return static_cast<T>(value.real);
    }
    else if constexpr (std::is_same_v<T, std::string>)
    {
        return value.text;
    }
    else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    {
        return value.list;
    }
    else if constexpr (std::is_same_v<T, Entries>)
    {
        return value.entries;
    }
    else if constexpr (std::is_same_v<T, NumberOrWord>)
    {
        return {value.integer, value.text};
    }
    else if constexpr (std::is_same_v<T, rdma::Duration>)
    {
        return T(static_cast<int64_t>(value.integer));
    }
    else if constexpr (std::is_integral_v<T>)
    {
        return static_cast<T>(value.integer);
    }
    else
    {
        return T(value.integer); // bytes, rates
    }
}

/// The inverse of ValueAs().
template <class T>
void
SetValue(Value* value, const T& from)
{
    if constexpr (std::is_same_v<T, bool>)
    {
        value->flag = from;
    }
    else if constexpr (std::is_floating_point_v<T>)
    {
        value->real = from;
    }
    else if constexpr (std::is_same_v<T, std::string>)
    {
        value->text = from;
    }
    else if constexpr (std::is_same_v<T, std::vector<std::string>>)
    {
        value->list = from;
    }
    else if constexpr (std::is_same_v<T, Entries>)
    {
        value->entries = from;
    }
    else if constexpr (std::is_same_v<T, NumberOrWord>)
    {
        value->integer = from.number;
        value->text = from.word;
    }
    else if constexpr (std::is_integral_v<T>)
    {
        value->integer = from;
    }
    else if constexpr (std::is_same_v<T, rdma::Duration>)
    {
        value->integer = static_cast<uint64_t>(from.ps);
    }
    else if constexpr (std::is_same_v<T, rdma::BitRate>)
    {
        value->integer = from.bps;
    }
    else
    {
        value->integer = from.value;
    }
}

/// What a member holds: T of std::optional<T>.
template <class T>
struct Held
{
    using Type = T;
};

template <class T>
struct Held<std::optional<T>>
{
    using Type = T;
};

/// An optional member has a value if the user gives one; others keep their own if there is none.
template <class S, class T>
Binding
BindTo(T S::*member)
{
    return {typeid(S), [member](const Value& value, void* spec) {
                T& field = static_cast<S*>(spec)->*member;
                if constexpr (IsOptional<T>::value)
                {
                    if (value.given)
                    {
                        field = ValueAs<typename T::value_type>(value);
                    }
                }
                else if (value.present || !value.raw.empty())
                {
                    field = ValueAs<T>(value);
                }
            }};
}

} // namespace scenario

#endif // SCENARIOS_OPTIONS_BINDING_H
