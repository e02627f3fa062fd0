/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "ns3-settings.h"

#include "contrib/dltrain/base/console.h"
#include "contrib/dltrain/ranks/parts-of-run.h"
#include "contrib/dltrain/ranks/ranks.h"
#include "contrib/dltrain/ranks/socket-part.h"
#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/shown-text.h"
#include "own-defaults.h"
#include "scenarios/asked/fabric.h"
#include "scenarios/asked/run.h"
#include "scenarios/launch/ns3-environment.h"
#include "scenarios/launch/output-folder.h"
#include "scenarios/launch/part.h"
#include "scenarios/network/load-balancing-options.h"
#include "scenarios/options/member.h"
#include "topologies/names.h"

#include "ns3/attribute.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/global-value.h"
#include "ns3/log.h"
#include "ns3/rdma-congestion-ops.h"
#include "ns3/string.h"
#include "ns3/type-id.h"

#include <algorithm>
#include <boost/algorithm/string.hpp>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <vector>

namespace dltrain
{

namespace
{

/// Times are 64 bits of picoseconds.
bool
IsTime(const std::string& text)
{
    static const std::regex time(
        R"(([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(s|ms|us|ns|ps|fs|min|h|d|y)?)");
    static const std::map<std::string, double> seconds{{"", 1},
                                                       {"s", 1},
                                                       {"ms", 1e-3},
                                                       {"us", 1e-6},
                                                       {"ns", 1e-9},
                                                       {"ps", 1e-12},
                                                       {"fs", 1e-15},
                                                       {"min", 60},
                                                       {"h", 3600},
                                                       {"d", 86400},
                                                       {"y", 31536000}};
    std::smatch parts;
    return std::regex_match(text, parts, time) &&
           std::fabs(std::strtod(parts[1].str().c_str(), nullptr)) * seconds.at(parts[2].str()) <
               9.2e6;
}

/// \return whether there is such a class, a kind of `base`, that can be made
bool
IsClass(const std::string& name, const std::string& base)
{
    ns3::TypeId type;
    return ns3::TypeId::LookupByNameFailSafe(name, &type) && type.HasConstructor() &&
           (base.empty() || type.IsChildOf(ns3::TypeId::LookupByName(base)));
}

/// \return the class of a checker's values: "EnumValue"
std::string
ValueType(const ns3::AttributeChecker& checker)
{
    // Checkers say "ns3::UintegerValue", "BooleanValue" or (3.43) "ns3::EnumValue<x::Y>".
    const std::string type = checker.GetValueTypeName();
    const std::string name = type.substr(0, type.find('<'));
    return name.substr(name.rfind(':') + 1);
}

/**
 * Most value classes of ns-3 abort the program on a text that they cannot read, instead of refusing
 * it (or, an enumeration of an optimized build, read past the end). So ns-3 sees only texts that it
 * can read. What a class that is not listed reads is unknown, so it is refused.
 */
bool
IsReadable(const ns3::AttributeChecker& checker, const std::string& text)
{
    static const std::regex natural(R"(\+?\d+)");
    static const std::regex integer(R"([+-]?\d+)");
    static const std::regex number(R"([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)");
    static const std::regex rate(R"((\d+\.?\d*|\.\d+)([kKMG]?(bps|b/s|Bps|B/s)|[KMG]i(b/s|B/s))?)");
    const std::string type = ValueType(checker);
    if (type == "EnumValue")
    {
        const std::string names = "|" + checker.GetUnderlyingTypeInformation() + "|";
        return text.find('|') == std::string::npos &&
               names.find("|" + text + "|") != std::string::npos;
    }
    return type == "StringValue" || type == "BooleanValue" ||
           (type == "UintegerValue" && std::regex_match(text, natural)) ||
           (type == "IntegerValue" && std::regex_match(text, integer)) ||
           (type == "DoubleValue" && std::regex_match(text, number)) ||
           (type == "TimeValue" && IsTime(text)) ||
           (type == "DataRateValue" && std::regex_match(text, rate)) ||
           (type == "TypeIdValue" && IsClass(text, ""));
}

/// "; did you mean 'x'?", or what there is.
std::string
Hint(const std::string& name, const std::vector<std::string>& known, const std::string& what)
{
    std::string nearest = rdma::NearestName(name, known);
    nearest = nearest.empty() ? rdma::NearestByWords(name, known) : nearest;
    if (!nearest.empty())
    {
        return "; did you mean " + nearest + "?";
    }
    std::string text;
    if (known.size() <= 30)
    {
        for (const std::string& one : known)
        {
            text += (text.empty() ? "; " + what + ": " : ", ") + one;
        }
    }
    return text;
}

std::vector<std::string>
TypeNames()
{
    std::vector<std::string> names;
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        names.push_back(ns3::TypeId::GetRegistered(i).GetName());
    }
    return names;
}

/// Classes that can be made, a kind of `base` ("": any).
std::vector<std::string>
ClassNames(const std::string& base)
{
    std::vector<std::string> names;
    for (const std::string& name : TypeNames())
    {
        if (IsClass(name, base))
        {
            names.push_back(name);
        }
    }
    return names;
}

/// "1ns" of "+1000ps", as ns-3 writes a time: the largest unit of which there is at least one.
std::string
TimeInWords(const std::string& text)
{
    // 2^63 ps: the longest time there is.
    constexpr double most = 9.2233e18;
    static const std::map<std::string, double> ps{{"fs", 1e-3},
                                                  {"ps", 1},
                                                  {"ns", 1e3},
                                                  {"us", 1e6},
                                                  {"ms", 1e9},
                                                  {"s", 1e12}};
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    const auto scale = ps.find(end);
    if (scale == ps.end())
    {
        return text;
    }
    value *= scale->second;
    if (value > most)
    {
        return "the longest time there is";
    }
    std::string unit = "ps";
    for (const char* larger : {"ns", "us", "ms", "s"})
    {
        if (std::fabs(value) < 1000)
        {
            break;
        }
        value /= 1000;
        unit = larger;
    }
    char words[32];
    std::snprintf(words, sizeof(words), "%.6g", value);
    return words + (value == 0 ? "s" : unit);
}

/// "16 to 9000" of "uint32_t 16:9000"; "" if there are no limits.
std::string
Limits(const std::string& underlying, bool areTimes = false)
{
    const std::size_t space = underlying.find(' ');
    const std::size_t colon = underlying.find(':', space);
    if (space == std::string::npos || colon == std::string::npos)
    {
        return "";
    }
    const std::string least = underlying.substr(space + 1, colon - space - 1);
    const std::string most = underlying.substr(colon + 1);
    return ", " +
           (areTimes ? TimeInWords(least) + " to " + TimeInWords(most) : least + " to " + most);
}

/**
 * What is wrong with a value, in words: the names of C++ types say nothing to a user.
 * \param base what the value is a class of, if it is one.
 */
std::string
Invalid(const std::string& value,
        const ns3::AttributeChecker& checker,
        const std::string& base,
        const std::string& help)
{
    const std::string type = ValueType(checker);
    const std::string underlying = checker.GetUnderlyingTypeInformation();
    std::string allowed;
    std::vector<std::string> names;
    if (type == "UintegerValue" || type == "IntegerValue")
    {
        allowed = "a whole number" + Limits(underlying);
    }
    else if (type == "DoubleValue")
    {
        allowed = "a number" + Limits(underlying);
    }
    else if (type == "TimeValue")
    {
        allowed = "a time such as 500ns" + Limits(underlying, true);
    }
    else if (type == "DataRateValue")
    {
        allowed = "a rate such as 100Gbps";
    }
    else if (type == "BooleanValue")
    {
        allowed = "true, false";
    }
    else if (type == "EnumValue")
    {
        boost::split(names, underlying, [](char c) { return c == '|'; });
    }
    else if (!base.empty() || type == "TypeIdValue")
    {
        names = ClassNames(base);
        allowed = names.size() <= 30 ? "" : "an ns-3 class (--PrintTypeIds lists them)";
    }
    else
    {
        allowed = type == "StringValue" ? "another text" : "nothing: it is no text or number";
    }
    if (allowed.empty())
    {
        allowed = boost::join(names, ", ");
    }
    const std::string nearest = rdma::NearestName(value, names);
    return "'" + rdma::Shown(value, 100) + "' is not valid; allowed: " + allowed + " (" + help +
           ")" + (nearest.empty() ? "" : "; did you mean " + nearest + "?");
}

/// \return the first class of a group with an attribute of that name; "" if none has one
std::string
OwnerOf(const std::string& attribute, const std::string& group)
{
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        const ns3::TypeId type = ns3::TypeId::GetRegistered(i);
        for (std::size_t j = 0; type.GetGroupName() == group && j < type.GetAttributeN(); ++j)
        {
            if (type.GetAttribute(j).name == attribute)
            {
                return type.GetName();
            }
        }
    }
    return {};
}

/// Groups of classes, each once.
std::vector<std::string>
GroupNames()
{
    std::set<std::string> names;
    for (uint16_t i = 0; i < ns3::TypeId::GetRegisteredN(); ++i)
    {
        names.insert(ns3::TypeId::GetRegistered(i).GetGroupName());
    }
    names.erase("");
    return {names.begin(), names.end()};
}

/// \return whether it is the name of a global value; then `error` has the problem, if there is one
bool
SetGlobal(const std::string& name, const std::string& value, std::string& error)
{
    if (name == "RngRun" || name == "RngSeed")
    {
        error = "the programs seed all random numbers from one seed; use " +
                scenario::Spell(&scenario::asked::Run::seed) + "=" +
                (!value.empty() && value.size() <= 20 &&
                         value.find_first_not_of("0123456789") == std::string::npos
                     ? value
                     : "1");
        return true;
    }
    const auto global =
        std::find_if(ns3::GlobalValue::Begin(),
                     ns3::GlobalValue::End(),
                     [&](const ns3::GlobalValue* g) { return g->GetName() == name; });
    if (global == ns3::GlobalValue::End())
    {
        return false;
    }
    const ns3::AttributeChecker& checker = *(*global)->GetChecker();
    const std::string base = name == "SchedulerType"                 ? "ns3::Scheduler"
                             : name == "SimulatorImplementationType" ? "ns3::SimulatorImpl"
                                                                     : "";
    // CheckSimulator later decides what each of them can simulate.
    const bool isKnown = base.empty() || IsClass(value, base) ||
                         (base == "ns3::SimulatorImpl" && IsSimulatorOfMpi(value));
    if (!IsReadable(checker, value) || !isKnown ||
        !ns3::Config::SetGlobalFailSafe(name, ns3::StringValue(value)))
    {
        error = Invalid(value, checker, base, (*global)->GetHelp());
    }
    return true;
}

/// \param where how the user gave it. \param name "ns3::RdmaNic::Mtu"
bool
Set(const std::string& where, const std::string& name, const std::string& value, std::string& error)
{
    const std::size_t colons = name.rfind("::");
    std::string wrong;
    if (SetGlobal(name.rfind("ns3::", 0) == 0 ? name.substr(5) : name, value, wrong))
    {
        error = wrong.empty() ? "" : rdma::Shown(where, 100) + ": " + wrong;
        return wrong.empty();
    }
    ns3::TypeId type;
    if (colons == std::string::npos ||
        !ns3::TypeId::LookupByNameFailSafe(name.substr(0, colons), &type))
    {
        if (colons == std::string::npos || name.substr(0, colons) == "ns3")
        {
            std::vector<std::string> known;
            for (auto global = ns3::GlobalValue::Begin(); global != ns3::GlobalValue::End();
                 ++global)
            {
                known.push_back((*global)->GetName());
            }
            const std::string own = colons == std::string::npos ? name : name.substr(colons + 2);
            error = rdma::Shown(where, 100) + ": there is no global value " + rdma::Shown(own, 60) +
                    Hint(own, known, "ns-3 has") + " (--PrintGlobals lists them)";
            return false;
        }
        const std::string typeName = name.substr(0, colons);
        if (IsInMissingPart(typeName))
        {
            SayNote("note: " + rdma::Shown(where, 100) +
                    " is checked when TCP and UDP are built; " +
                    "type: " + scenario::PartCommand(SocketPart::PART));
            return true;
        }
    }
    error = CheckAttribute(where, name, value);
    if (!error.empty())
    {
        return false;
    }
    const std::string attribute = name.substr(colons + 2);
    if (attribute == "Preset" && type.IsChildOf(ns3::RdmaCongestionOps::GetTypeId()))
    {
        error = rdma::Shown(where, 100) +

                ": is of the senders alone, and switches would mark by another preset; allowed: " +
                scenario::Spell(&scenario::asked::Fabric::ccPreset) + "=" + rdma::Shown(value, 60);
        return false;
    }
    if (!ns3::Config::SetDefaultFailSafe(name, ns3::StringValue(value)))
    {
        ns3::TypeId::AttributeInformation info;
        type.LookupAttributeByName(attribute, &info);
        error = rdma::Shown(where, 100) + ": " + Invalid(value, *info.checker, "", info.help);
        return false;
    }
    return true;
}

/// --Print...: ends the program if it is valid, and leaves no folder of results.
bool
Print(const std::string& argument, const scenario::RunOptions& run, std::string& error)
{
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(2, equals == std::string::npos ? equals : equals - 2);
    const std::string value = equals == std::string::npos ? "" : argument.substr(equals + 1);
    const std::vector<std::string> known{"PrintHelp",
                                         "PrintVersion",
                                         "PrintGroups",
                                         "PrintGroup",
                                         "PrintTypeIds",
                                         "PrintAttributes",
                                         "PrintGlobals"};
    ns3::TypeId type;
    if (std::find(known.begin(), known.end(), name) == known.end())
    {
        error = rdma::Shown(argument, 100) + ": no such option" + Hint(name, known, "ns-3 has");
        return false;
    }
    const bool hasValue = equals != std::string::npos;
    const bool takesValue = name == "PrintGroup" || name == "PrintAttributes";
    if (hasValue != takesValue)
    {
        error = rdma::Shown(argument, 100) +
                (takesValue ? ": needs a value, --" + name + "=NAME" : ": takes no value");
        return false;
    }
    if (name == "PrintGroup")
    {
        const std::vector<std::string> groups = GroupNames();
        if (std::find(groups.begin(), groups.end(), value) == groups.end())
        {
            error = rdma::Shown(argument, 100) + ": there is no group '" + rdma::Shown(value, 60) +
                    "' of ns-3 classes" + Hint(value, groups, "groups");
            return false;
        }
    }
    std::string understood = argument;
    if (name == "PrintAttributes" && !ns3::TypeId::LookupByNameFailSafe(value, &type))
    {
        const std::string full = value.rfind("ns3::", 0) == 0 ? value : "ns3::" + value;
        if (!ns3::TypeId::LookupByNameFailSafe(full, &type))
        {
            error = rdma::Shown(argument, 100) + ": there is no ns-3 class '" +
                    rdma::Shown(value, 60) + "'" + Hint(full, TypeNames(), "classes") +
                    " (--PrintTypeIds lists them)";
            return false;
        }
        understood = "--PrintAttributes=" + full;
    }
    Ranks::Leave(); // it ends the program, in every process alike
    scenario::DropOutput(run);
    if (name == "PrintAttributes")
    {
        const std::string full = understood.substr(understood.find('=') + 1);
        std::cout << OwnDefaultsText(ns3::TypeId::LookupByName(full));
    }
    ns3::CommandLine commandLine;
    commandLine.Parse({"", understood});
    return true;
}

} // namespace

std::string
CheckAttribute(const std::string& where, const std::string& name, const std::string& value)
{
    const std::size_t colons = name.rfind("::");
    const std::string typeName = name.substr(0, colons);
    ns3::TypeId type;
    if (!ns3::TypeId::LookupByNameFailSafe(typeName, &type))
    {
        return rdma::Shown(where, 100) + ": there is no ns-3 class " + rdma::Shown(typeName, 60) +
               Hint(typeName, TypeNames(), "classes") + " (--PrintTypeIds lists them)";
    }
    const std::string attribute = name.substr(colons + 2);
    ns3::TypeId::AttributeInformation info;
    if (!type.LookupAttributeByName(attribute, &info))
    {
        std::vector<std::string> known;
        for (std::size_t i = 0; i < type.GetAttributeN(); ++i)
        {
            known.push_back(type.GetAttribute(i).name);
        }
        const std::string owner = OwnerOf(attribute, type.GetGroupName());
        return rdma::Shown(where, 100) + ": " + type.GetName() + " has no attribute " +
               rdma::Shown(attribute, 60) +
               (owner.empty() ? Hint(attribute, known, "it has")
                              : "; " + owner + " has: did you mean --" + owner + "::" + attribute +
                                    "=" + rdma::Shown(value, 60) + "?");
    }
    return IsReadable(*info.checker, value) &&
                   info.checker->CreateValidValue(ns3::StringValue(value))
               ? ""
               : rdma::Shown(where, 100) + ": " + Invalid(value, *info.checker, "", info.help);
}

void
TakeNs3Environment()
{
    for (const char* variable : scenario::kNs3Variables)
    {
        unsetenv(variable);
    }
}

std::string
CheckLogging()
{
    const char* text = std::getenv("NS_LOG");
    std::vector<std::string> components;
    for (const auto& component : *ns3::LogComponent::GetComponentList())
    {
        components.push_back(component.first);
    }
    return scenario::CheckNs3Log(text ? text : "", components);
}

bool
ApplyNs3Settings(const scenario::RunOptions& run, std::string& error)
{
    for (const auto& [name, value] : run.environment)
    {
        if (!Set("environment: " + name, name, value, error))
        {
            return false;
        }
    }
    for (const auto& [name, value] : run.attributes)
    {
        if (!Set("the scenario's /ns3/" + name, name, value, error))
        {
            return false;
        }
    }
    for (const std::string& argument : run.ns3Arguments)
    {
        if (argument.rfind("--Print", 0) == 0)
        {
            if (!Print(argument, run, error))
            {
                return false;
            }
            continue;
        }
        const std::size_t equals = argument.find('=');
        if (equals == std::string::npos)
        {
            error = rdma::Shown(argument, 100) + ": needs a value, --ns3::Class::Attribute=value";
            return false;
        }
        if (!Set(argument.substr(0, equals),
                 argument.substr(2, equals - 2),
                 argument.substr(equals + 1),
                 error))
        {
            return false;
        }
    }
    return true;
}

} // namespace dltrain
