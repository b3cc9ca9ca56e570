# Set up Lanista in .venv of this folder: `.\scripts\bootstrap.ps1`, from anywhere. It may be run again.
# -Python names another Python than python.
param([string]$Python = "python")
$ErrorActionPreference = "Stop"

Set-Location (Split-Path -Parent $PSScriptRoot)

function Invoke-Step {
    param([string]$Program, [string[]]$Arguments)
    & $Program @Arguments
    if ($LASTEXITCODE -ne 0) {
        throw "$Program $Arguments ended with $LASTEXITCODE."
    }
}

if (-not (Get-Command $Python -ErrorAction SilentlyContinue)) {
    throw "There is no $Python; install Python 3.11 or newer, or name one with -Python."
}
& $Python -c "import sys; sys.exit(sys.version_info < (3, 11))"
if ($LASTEXITCODE -ne 0) {
    throw "$(& $Python --version) is too old; Lanista needs 3.11 or newer: name one with -Python."
}

Invoke-Step $Python @("-m", "venv", ".venv")
# Windows has Scripts, other systems have bin.
$bin = if (Test-Path ".venv/Scripts") { ".venv/Scripts" } else { ".venv/bin" }
Invoke-Step "$bin/python" @("-m", "pip", "install", ".")
Invoke-Step "$bin/lanista" @("games")
Write-Output "Ready. Begin with: $bin/Activate.ps1"
