function zeKernelCreate(hModule, desc, phKernel)
  return drvl0.zeKernelCreate(hModule, desc, phKernel)
end
