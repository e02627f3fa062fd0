// SPDX-License-Identifier: GPL-2.0-only
#ifndef RESULTS_SCRATCH_FOLDER_H
#define RESULTS_SCRATCH_FOLDER_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <vector>

namespace reports
{

/// A test with an empty folder, which goes with it.
class ScratchFolder : public testing::Test
{
  protected:
    ScratchFolder()
    {
        char name[] = "/tmp/dltrain-results-XXXXXX";
        m_folder = mkdtemp(name);
    }

    ~ScratchFolder() override
    {
        std::filesystem::remove_all(m_folder);
    }

    std::string Path(const std::string& name) const
    {
        return m_folder + "/" + name;
    }

    /// \return its path
    std::string Write(const std::string& name, const std::string& text) const
    {
        std::ofstream(Path(name), std::ios::binary) << text;
        return Path(name);
    }

    static std::string ReadAll(const std::string& path)
    {
        std::ifstream file(path, std::ios::binary);
        std::ostringstream text;
        text << file.rdbuf();
        return text.str();
    }

    /// Fields of all lines but the first.
    static std::vector<std::vector<std::string>> ReadRows(const std::string& path)
    {
        std::vector<std::vector<std::string>> rows;
        std::ifstream file(path);
        std::string line;
        std::getline(file, line);
        while (std::getline(file, line))
        {
            std::vector<std::string> row;
            std::istringstream fields(line);
            std::string field;
            while (std::getline(fields, field, ','))
            {
                row.push_back(field);
            }
            rows.push_back(row);
        }
        return rows;
    }

  private:
    std::string m_folder;
};

} // namespace reports

#endif // RESULTS_SCRATCH_FOLDER_H
