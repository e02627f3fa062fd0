/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Tables in files: a column is declared once, and header, rows, readers' types, the report's words
 * and the documentation follow from it.
 *
 *     const Table<Row> QUEUES("queues.csv",
 *                             {{"time_us (us): End of the interval", &Row::time},
 *                              {"max_bytes (B): Longest queue in it", &Row::largest}});
 */
#ifndef REPORTS_SCHEMA_TABLE_H
#define REPORTS_SCHEMA_TABLE_H

#include "reports/base/line-log.h"
#include "reports/schema/written.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace reports
{

/// A time of a column in seconds: exact.
struct InSeconds
{
    int64_t ps = 0;
};

/// A field of a table, by the type of its value: text; int64_t is a time in ps, written as us;
/// InSeconds; other integers; double. std::optional: may be empty.
struct Field
{
    template <typename Value>
    static std::string TypeOf()
    {
        if constexpr (IsOptional<Value>::value)
        {
            // pandas has no whole number that may be missing.
            const std::string type = TypeOf<typename Value::value_type>();
            return (type == "int64" ? "float64" : type) + "?";
        }
        else if constexpr (std::is_convertible_v<Value, std::string_view>)
        {
            return "str";
        }
        else
        {
            return IsTime<Value> || std::is_same_v<Value, InSeconds> ||
                           std::is_floating_point_v<Value>
                       ? "float64"
                       : "int64";
        }
    }

    /// \param quoted as CSV needs it
    template <typename Value>
    static void Append(std::string& line, const Value& value, bool quoted)
    {
        if constexpr (IsOptional<Value>::value)
        {
            if (value)
            {
                Append(line, *value, quoted);
            }
        }
        else if constexpr (std::is_convertible_v<Value, std::string_view>)
        {
            quoted ? AppendField(line, value) : void(line.append(std::string_view(value)));
        }
        else if constexpr (IsTime<Value>)
        {
            AppendMicroseconds(line, value);
        }
        else if constexpr (std::is_same_v<Value, InSeconds>)
        {
            AppendSeconds(line, value.ps);
        }
        else if constexpr (std::is_floating_point_v<Value>)
        {
            AppendDecimal(line, value);
        }
        else
        {
            AppendInteger(line, value);
        }
    }

  private:
    template <typename T>
    struct IsOptional : std::false_type
    {
    };

    template <typename T>
    struct IsOptional<std::optional<T>> : std::true_type
    {
    };

    template <typename T>
    static constexpr bool IsTime = std::is_same_v<T, int64_t>;
};

/// A column of a table whose rows are made of `Row`.
template <typename Row>
class Column
{
  public:
    /// \param value member of Row, or a function of it
    template <typename Value>
    Column(Words words, Value value)
        : m_words{std::move(words), ""}
    {
        using Result = std::decay_t<std::invoke_result_t<Value, const Row&>>;
        m_words.type = Field::TypeOf<Result>();
        m_append = [value](std::string& line, const Row& row, bool quoted) {
            Field::Append<Result>(line, std::invoke(value, row), quoted);
        };
    }

    /// Files of older versions have no such column.
    Column Later() &&
    {
        m_words.type += "*";
        return std::move(*this);
    }

  private:
    template <typename>
    friend class Table;

    TableWords::Typed m_words;
    std::function<void(std::string& line, const Row& row, bool quoted)> m_append;
};

template <typename Row>
class Table : public TableWords
{
  public:
    Table(std::string file, std::vector<Column<Row>> columns, char separator = ',')
        : TableWords(std::move(file), separator)
    {
        for (Column<Row>& column : columns)
        {
            m_columns.push_back(column.m_words);
            m_append.push_back(std::move(column.m_append));
        }
    }

    /// \param columns number of them, from the first
    std::string Header(std::size_t columns = SIZE_MAX) const
    {
        std::string line;
        for (std::size_t i = 0; i < std::min(columns, m_columns.size()); ++i)
        {
            line += (i ? std::string(1, m_separator) : "") + m_columns[i].name;
        }
        return line;
    }

    /// \param line becomes the row
    void Write(std::string& line, const Row& row, std::size_t columns = SIZE_MAX) const
    {
        line.clear();
        for (std::size_t i = 0; i < std::min(columns, m_append.size()); ++i)
        {
            if (i)
            {
                line += m_separator;
            }
            m_append[i](line, row, m_separator == ',');
        }
    }

  private:
    std::vector<std::function<void(std::string&, const Row&, bool)>> m_append;
};

} // namespace reports

#endif // REPORTS_SCHEMA_TABLE_H
