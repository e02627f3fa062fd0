/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The words for what is written: names, units and meanings of columns and keys, as they are
 * declared (table.h, object.h), for --list=results.
 */
#ifndef REPORTS_SCHEMA_WRITTEN_H
#define REPORTS_SCHEMA_WRITTEN_H

#include <string>
#include <utility>
#include <vector>

namespace reports
{

/// A column, or a key of an object.
struct Words
{
    Words() = default;

    Words(std::string name, std::string unit, std::string meaning)
        : name(std::move(name)),
          unit(std::move(unit)),
          meaning(std::move(meaning))
    {
    }

    /// \param declared "name (unit): Meaning", or "name: Meaning"
    Words(const char* declared);

    std::string name;
    std::string unit; ///< "us", "B", "0 to 1"; empty: none. Of a member "=": that of the object
    std::string meaning;
};

/// The keys of an object of JSON.
class Shape
{
  public:
    struct Member : Words
    {
        bool isList{false};           ///< its value is an array, of which `inside` is an element
        const Shape* inside{nullptr}; ///< null: a plain value, or keys without fixed names
    };

    const std::vector<Member>& Members() const
    {
        return m_members;
    }

    /// \return a name for people if it is used in several places, "Quantiles"; else empty
    const std::string& GetName() const
    {
        return m_name;
    }

  protected:
    explicit Shape(std::string name)
        : m_name(std::move(name))
    {
    }

    std::string m_name;
    std::vector<Member> m_members;
};

/// Where keys of stats.json stand in the documentation, in this order.
enum class Section
{
    kRun,
    kJob,
    kTrace,
    kServers,
    kPath,
    kCollectives,
    kNetwork,
    kFaults,
    kOthers,
    kTraffic,
    kGoodput,
    kServing,
    kMultiplex,
    kPlanning,
    COUNT
};

/// Makes keys at the top of stats.json known: a static object beside the keys.
class RegisteredKeys
{
  public:
    /// \param keys kept by reference
    RegisteredKeys(Section section, const Shape& keys);
};

/// A file of a table. It makes itself known.
class TableWords
{
  public:
    /// Readers' type of a column: "int64", "float64", "str"; with "?" fields may be empty, with "*"
    /// files of older versions have no such column.
    struct Typed : Words
    {
        std::string type;
    };

    TableWords(const TableWords&) = delete;
    TableWords& operator=(const TableWords&) = delete;

    const std::string& GetFile() const
    {
        return m_file;
    }

    char GetSeparator() const
    {
        return m_separator;
    }

    const std::vector<Typed>& Columns() const
    {
        return m_columns;
    }

  protected:
    TableWords(std::string file, char separator);
    ~TableWords();

    std::string m_file;
    char m_separator;
    std::vector<Typed> m_columns;
};

/// \return the names of a table's columns, as the file has them. \pre there is such a table
std::string HeaderOf(const std::string& file);

/// \return all of it as JSON for other programs: {"files": {name: {"separator", "columns"}},
/// "stats": [{"section", "keys"}], "shapes": {name: keys}}
std::string WrittenAsJson();

} // namespace reports

#endif // REPORTS_SCHEMA_WRITTEN_H
