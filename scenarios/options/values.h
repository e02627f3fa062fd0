/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The values of an option table, and the result of reading a command line.
 */
#ifndef SCENARIOS_OPTIONS_VALUES_H
#define SCENARIOS_OPTIONS_VALUES_H

#include "contrib/rdma/core/units.h"
#include "scenarios/options/binding.h"
#include "scenarios/options/member.h"
#include "scenarios/options/option.h"

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace scenario
{

struct OptionTable;

/// All values of a table. Asking for a name that is not in the table is a mistake of the program:
/// std::logic_error.
class Values
{
  public:
    const Value& operator[](const std::string& name) const;
    Value& Slot(const std::string& name);

    bool Given(const std::string& name) const
    {
        return (*this)[name].given;
    }

    bool Present(const std::string& name) const
    {
        return (*this)[name].present;
    }

    bool Flag(const std::string& name) const
    {
        return (*this)[name].flag;
    }

    uint64_t Integer(const std::string& name) const
    {
        return (*this)[name].integer;
    }

    uint32_t U32(const std::string& name) const
    {
        return static_cast<uint32_t>((*this)[name].integer);
    }

    double Real(const std::string& name) const
    {
        return (*this)[name].real;
    }

    const std::string& Text(const std::string& name) const
    {
        return (*this)[name].text;
    }

    rdma::Bytes Bytes(const std::string& name) const
    {
        return rdma::Bytes((*this)[name].integer);
    }

    rdma::BitRate Rate(const std::string& name) const
    {
        return rdma::BitRate((*this)[name].integer);
    }

    rdma::Duration Duration(const std::string& name) const
    {
        return rdma::Duration(static_cast<int64_t>((*this)[name].integer));
    }

    const std::vector<std::string>& List(const std::string& name) const
    {
        return (*this)[name].list;
    }

    /// The value of a member: T{} if there is none, or if the program has no such option. Texts,
    /// lists and entries by reference.
    template <class S, class T>
    decltype(auto) Get(T S::*member) const
    {
        using Has = typename Held<T>::Type;
        const Value& value = At(member);
        if constexpr (std::is_same_v<Has, std::string>)
        {
            return static_cast<const std::string&>(value.text);
        }
        else if constexpr (std::is_same_v<Has, std::vector<std::string>>)
        {
            return static_cast<const std::vector<std::string>&>(value.list);
        }
        else if constexpr (std::is_same_v<Has, Entries>)
        {
            return static_cast<const Entries&>(value.entries);
        }
        else
        {
            return ValueAs<Has>(value);
        }
    }

    /// Whether a member has a value, given or decided.
    bool Has(Member member) const
    {
        return At(member).present;
    }

    bool Given(Member member) const
    {
        return At(member).given;
    }

    /// As Where(name); of an option that this program does not have, "--name".
    std::string Where(Member member) const;

    const std::string& Raw(Member member) const
    {
        return At(member).raw;
    }

    /// \return the member's option: "zero"
    const std::string& NameOf(Member member) const;
    /// All of a value; an empty one if the program has no such option.
    const Value& At(Member member) const;
    /// The same to be written. The program has the option.
    Value& Slot(Member member);

    /// Sets a value as if nobody had given it.
    template <class S, class T>
    void Set(T S::*member, const typename Held<T>::Type& to)
    {
        Value value;
        SetValue(&value, to);
        value.present = true;
        Slot(member) = std::move(value);
    }

    /// How to point at an option in an error: where it was given, else "--name".
    std::string Where(const std::string& name) const;

    /// The text that was given, or the default.
    const std::string& Raw(const std::string& name) const
    {
        return (*this)[name].raw;
    }

    /// Members become names of the rows that are bound to them in this table.
    void BindTo(const OptionTable& table);

  private:
    std::map<std::string, Value> m_values;
    std::shared_ptr<const std::map<Member, std::string>> m_options;
};

struct JobSeat;

/// A value of a configuration as run that nobody gave: a default, or decided from others. A run of
/// that configuration decides it again.
struct KeptValue
{
    std::string path; ///< its option's
    nlohmann::json json;
    Value value; ///< as if it were given
};

/// The result of reading a command line.
struct ReadResult
{
    Values values;
    std::vector<Error> errors;
    std::vector<std::string> notes;  ///< of options given several times
    std::optional<std::string> text; ///< --help, --list, --version: print it and stop with status 0
    std::vector<std::string> ns3Arguments;
    std::vector<std::pair<std::string, std::string>>
        attributes;                      ///< attributes in the JSON's "ns3" object, in its order
    std::shared_ptr<const JobSeat> seat; ///< seat of a job among several; null: the run has one job
    std::map<std::string, KeptValue> kept; ///< by option
    /// A configuration as run, without the options that were given on top. Null: none were.
    std::shared_ptr<const ReadResult> alone;
};

} // namespace scenario

#endif // SCENARIOS_OPTIONS_VALUES_H
